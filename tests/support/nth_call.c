/* Makes the n-th call of the C library that concerns a directory fail, for tests: LD_PRELOAD this, then fault_arm().
 *
 * Counted are calls with a path below the directory, calls on descriptors opened there, and, since they have no path,
 * the calls that start programs. The counter is shared with forked processes and ends at exec. Nothing is counted
 * before fault_arm(), and nothing in a program that is started by exec, because it is never armed there.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { OPEN, READ, WRITE, SYNC, CHANGE, STAT, LIST, LOCK, START, KINDS };

#define ERRORS 3
static const int errors[KINDS][ERRORS] = {
    [OPEN] = {EMFILE, EIO, EACCES},   [READ] = {EIO, ENOMEM, EIO},     [WRITE] = {ENOSPC, EIO, EDQUOT},
    [SYNC] = {EIO, ENOSPC, EDQUOT},   [CHANGE] = {ENOSPC, EIO, EROFS}, [STAT] = {EIO, EACCES, ENOMEM},
    [LIST] = {EMFILE, EIO, EACCES},   [LOCK] = {ENOLCK, EIO, EINTR},   [START] = {EMFILE, EAGAIN, ENOMEM},
};

struct shared {
    long count;
    long failed; /* the kind that failed, KINDS before that */
};

#define MOST 4096
static struct shared *shared;
static long wanted;
static int variant, sticky, report = -1;
static char root[PATH_MAX];
static size_t root_length;
static char ours[MOST];          /* descriptors opened below the root */
static char names[MOST][128];    /* the end of their paths, for the report */

static int below(int directory, const char *path) {
    char here[PATH_MAX];
    if (shared == NULL || path == NULL) return 0;
    if (path[0] != '/') {
        if (directory != AT_FDCWD) return directory >= 0 && directory < MOST && ours[directory];
        if (getcwd(here, sizeof here) == NULL) return 0;
        path = here;
    }
    return strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || path[root_length] == '\0');
}

static int known(int fd) { return shared != NULL && fd >= 0 && fd < MOST && ours[fd]; }

static int keep(int fd, int counted, const char *path) {
    if (fd >= 0 && fd < MOST) {
        size_t length = strlen(path);
        ours[fd] = counted;
        strcpy(names[fd], length < sizeof names[fd] ? path : path + length - sizeof names[fd] + 1);
    }
    return fd;
}

/* Counts a call; returns whether it must fail, with errno set. */
static int fails(enum kind kind, const char *name, const char *what) {
    char line[PATH_MAX + 64];
    long number = __atomic_add_fetch(&shared->count, 1, __ATOMIC_SEQ_CST);
    int failing = number == wanted;
    if (failing) shared->failed = kind;
    if (sticky && number > wanted && wanted > 0) failing = shared->failed == kind;
    int length = snprintf(line, sizeof line, "%s%s %s\n", failing ? "!" : "", name, what);
    if (report >= 0 && length > 0) syscall(SYS_write, report, line, (size_t)length < sizeof line ? (size_t)length : sizeof line);
    if (failing) errno = errors[kind][variant % ERRORS];
    return failing;
}

void fault_arm(const char *directory, long number, int error, int again, int log) {
    void *page = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(root, sizeof root, "%s", directory);
    root_length = strlen(root);
    wanted = number;
    variant = error;
    sticky = again;
    report = log;
    memset(ours, 0, sizeof ours);
    if (page != MAP_FAILED) {
        shared = page;
        shared->failed = KINDS;
    }
}

void fault_disarm(void) { shared = NULL; }

#define REAL(result, name, ...)                                                                                        \
    static result (*real)(__VA_ARGS__);                                                                                \
    if (real == NULL) real = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

#define OPENER(name)                                                                                                   \
    int name(const char *path, int flags, ...) {                                                                       \
        REAL(int, name, const char *, int, ...);                                                                       \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;                                      \
        va_end(rest);                                                                                                  \
        int counted = below(AT_FDCWD, path);                                                                           \
        if (counted && fails(OPEN, (flags & O_CREAT) ? "create" : "open", path)) return -1;                            \
        return keep(real(path, flags, mode), counted, path);                                                           \
    }
OPENER(open)
OPENER(open64)

#define OPENER_AT(name)                                                                                                \
    int name(int directory, const char *path, int flags, ...) {                                                        \
        REAL(int, name, int, const char *, int, ...);                                                                  \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;                                      \
        va_end(rest);                                                                                                  \
        int counted = below(directory, path);                                                                          \
        if (counted && fails(OPEN, (flags & O_CREAT) ? "create" : "open", path)) return -1;                            \
        return keep(real(directory, path, flags, mode), counted, path);                                                \
    }
OPENER_AT(openat)
OPENER_AT(openat64)

#define ON_FD(kind, result, name, parameters, types, arguments)                                                        \
    result name parameters {                                                                                           \
        REAL(result, name, types);                                                                                     \
        if (known(fd) && fails(kind, #name, names[fd])) return -1;                                                     \
        return real arguments;                                                                                         \
    }
#define LIST_OF(...) __VA_ARGS__
ON_FD(READ, ssize_t, read, (int fd, void *data, size_t size), LIST_OF(int, void *, size_t), (fd, data, size))
ON_FD(READ, ssize_t, pread, (int fd, void *data, size_t size, off_t at), LIST_OF(int, void *, size_t, off_t), (fd, data, size, at))
ON_FD(READ, ssize_t, pread64, (int fd, void *data, size_t size, off64_t at), LIST_OF(int, void *, size_t, off64_t), (fd, data, size, at))
ON_FD(WRITE, ssize_t, write, (int fd, const void *data, size_t size), LIST_OF(int, const void *, size_t), (fd, data, size))
ON_FD(WRITE, ssize_t, writev, (int fd, const struct iovec *data, int size), LIST_OF(int, const struct iovec *, int), (fd, data, size))
ON_FD(WRITE, ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), LIST_OF(int, const void *, size_t, off_t), (fd, data, size, at))
ON_FD(WRITE, ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), LIST_OF(int, const void *, size_t, off64_t), (fd, data, size, at))
ON_FD(WRITE, int, ftruncate, (int fd, off_t size), LIST_OF(int, off_t), (fd, size))
ON_FD(WRITE, int, ftruncate64, (int fd, off64_t size), LIST_OF(int, off64_t), (fd, size))
ON_FD(SYNC, int, fsync, (int fd), int, (fd))
ON_FD(SYNC, int, fdatasync, (int fd), int, (fd))
ON_FD(CHANGE, int, fchmod, (int fd, mode_t mode), LIST_OF(int, mode_t), (fd, mode))
ON_FD(STAT, int, fstat, (int fd, struct stat *found), LIST_OF(int, struct stat *), (fd, found))
ON_FD(STAT, int, fstat64, (int fd, struct stat64 *found), LIST_OF(int, struct stat64 *), (fd, found))
ON_FD(LOCK, int, flock, (int fd, int how), LIST_OF(int, int), (fd, how))

int close(int fd) {
    REAL(int, close, int);
    if (fd >= 0 && fd < MOST) ours[fd] = 0;
    return real(fd);
}

#define ON_PATH(kind, result, failed, name, parameters, types, arguments)                                              \
    result name parameters {                                                                                           \
        REAL(result, name, types);                                                                                     \
        if (below(AT_FDCWD, path) && fails(kind, #name, path)) return failed;                                          \
        return real arguments;                                                                                         \
    }
ON_PATH(CHANGE, int, -1, mkdir, (const char *path, mode_t mode), LIST_OF(const char *, mode_t), (path, mode))
ON_PATH(CHANGE, int, -1, rename, (const char *path, const char *to), LIST_OF(const char *, const char *), (path, to))
ON_PATH(CHANGE, int, -1, link, (const char *path, const char *to), LIST_OF(const char *, const char *), (path, to))
ON_PATH(CHANGE, int, -1, symlink, (const char *to, const char *path), LIST_OF(const char *, const char *), (to, path))
ON_PATH(CHANGE, int, -1, unlink, (const char *path), const char *, (path))
ON_PATH(CHANGE, int, -1, rmdir, (const char *path), const char *, (path))
ON_PATH(CHANGE, int, -1, chmod, (const char *path, mode_t mode), LIST_OF(const char *, mode_t), (path, mode))
ON_PATH(STAT, int, -1, stat, (const char *path, struct stat *found), LIST_OF(const char *, struct stat *), (path, found))
ON_PATH(STAT, int, -1, stat64, (const char *path, struct stat64 *found), LIST_OF(const char *, struct stat64 *), (path, found))
ON_PATH(STAT, int, -1, lstat, (const char *path, struct stat *found), LIST_OF(const char *, struct stat *), (path, found))
ON_PATH(STAT, int, -1, lstat64, (const char *path, struct stat64 *found), LIST_OF(const char *, struct stat64 *), (path, found))
ON_PATH(STAT, int, -1, access, (const char *path, int mode), LIST_OF(const char *, int), (path, mode))
ON_PATH(STAT, ssize_t, -1, readlink, (const char *path, char *to, size_t size), LIST_OF(const char *, char *, size_t), (path, to, size))

#define ON_PATH_AT(kind, name, parameters, types, arguments)                                                           \
    int name parameters {                                                                                              \
        REAL(int, name, types);                                                                                        \
        if (below(directory, path) && fails(kind, #name, path)) return -1;                                             \
        return real arguments;                                                                                         \
    }
ON_PATH_AT(CHANGE, mkdirat, (int directory, const char *path, mode_t mode), LIST_OF(int, const char *, mode_t), (directory, path, mode))
ON_PATH_AT(CHANGE, unlinkat, (int directory, const char *path, int flags), LIST_OF(int, const char *, int), (directory, path, flags))
ON_PATH_AT(CHANGE, renameat, (int directory, const char *path, int other, const char *to), LIST_OF(int, const char *, int, const char *), (directory, path, other, to))
ON_PATH_AT(CHANGE, linkat, (int directory, const char *path, int other, const char *to, int flags), LIST_OF(int, const char *, int, const char *, int), (directory, path, other, to, flags))
ON_PATH_AT(STAT, fstatat, (int directory, const char *path, struct stat *found, int flags), LIST_OF(int, const char *, struct stat *, int), (directory, path, found, flags))
ON_PATH_AT(STAT, fstatat64, (int directory, const char *path, struct stat64 *found, int flags), LIST_OF(int, const char *, struct stat64 *, int), (directory, path, found, flags))
ON_PATH_AT(STAT, faccessat, (int directory, const char *path, int mode, int flags), LIST_OF(int, const char *, int, int), (directory, path, mode, flags))

DIR *opendir(const char *path) {
    REAL(DIR *, opendir, const char *);
    int counted = below(AT_FDCWD, path);
    if (counted && fails(LIST, "opendir", path)) return NULL;
    DIR *found = real(path);
    if (found != NULL) keep(dirfd(found), counted, path);
    return found;
}

struct dirent64 *readdir64(DIR *directory) {
    REAL(struct dirent64 *, readdir64, DIR *);
    if (known(dirfd(directory)) && fails(READ, "readdir", names[dirfd(directory)])) return NULL;
    return real(directory);
}

int closedir(DIR *directory) {
    REAL(int, closedir, DIR *);
    int fd = dirfd(directory);
    if (fd >= 0 && fd < MOST) ours[fd] = 0;
    return real(directory);
}

int pipe2(int ends[2], int flags) {
    REAL(int, pipe2, int *, int);
    if (shared != NULL && fails(START, "pipe", "")) return -1;
    return real(ends, flags);
}

pid_t fork(void) {
    REAL(pid_t, fork, void);
    if (shared != NULL && fails(START, "fork", "")) return -1;
    return real();
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                char *const arguments[], char *const environment[]) {
    REAL(int, posix_spawn, pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
         char *const *, char *const *);
    if (shared != NULL && fails(START, "posix_spawn", path)) return errno;
    return real(pid, path, actions, attributes, arguments, environment);
}

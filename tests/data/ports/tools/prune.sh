ssh "$1" find "$2" -name '*.gz' -mtime +7 -delete

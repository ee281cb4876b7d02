"""What holds for every request: forms of other sites, foreign names, too much, and paths that lead elsewhere."""

from __future__ import annotations

import http.client
import re
import socket
import time
from contextlib import suppress

import httpx2
import pytest
from shell import wait_for
from webs import BEHIND, PROXY_SECRET, Browser, in_pieces, policy, proxied

POLICY = "default-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'"


def raw(base, method, path, headers=(), body=b""):
    """The status of a request exactly as it is given."""
    host, _, port = base.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders(body or None)
    answer = connection.getresponse()
    text = answer.read().decode("utf-8", "replace")
    connection.close()
    return answer.status, text


@pytest.mark.parametrize("path", ["/tickets", "/nowhere", "/healthz", "/static/style.css", "/api/runs", "/outcomes"])
def test_every_answer_says_what_browsers_may_do_with_it(served, path):
    _, _, _, browser = served
    headers = browser.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "same-site"},
        {"Origin": "http://localhost:1"},
        {"Origin": ""},
        {"Origin": "http://["},
        {},
        {"Sec-Fetch-Site": "same-origin"},
        {"Origin": "{base}", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "{base}.evil.example"},
        {"Referer": "{base}/tickets"},
    ],
)
def test_a_form_of_another_site_is_refused(served, headers):
    lab, ticket, server, browser = served
    fields = browser.form(f"/tickets/{ticket}") | {"decision": "approve", "read": "yes"}
    given = {name: text.replace("{base}", server.base) for name, text in headers.items()}
    answer = browser.post(f"/tickets/{ticket}/decide", data=fields, headers=given)
    assert answer.status_code == 403
    assert lab.status(ticket) == "pending"


def test_behind_a_name_forms_come_from_that_name_only(lab):
    lab.gated(policy())
    ticket = lab.pending("--as", "olga")
    with lab.web(*BEHIND, "--base-url", "https://gert.example.com", PS=PROXY_SECRET) as server:
        browser = proxied(server, "alice@corp", Host="gert.example.com")
        page = browser.get(f"/tickets/{ticket}")
        cookie = page.headers["set-cookie"]
        assert cookie.startswith("__Host-gert_form=")
        assert "Secure" in cookie
        token = re.search('name="form_token" value="([0-9a-f]+)"', page.text)[1]
        fields = {"form_token": token, "decision": "approve", "read": "yes"}
        sent = {"Cookie": cookie.partition(";")[0]}
        for origin in ("http://gert.example.com", "https://gert.example.com:8443", server.base, "https://example.com"):
            assert browser.submit(f"/tickets/{ticket}/decide", fields, Origin=origin, **sent).status_code == 403, origin
        done = browser.submit(f"/tickets/{ticket}/decide", fields, Origin="https://gert.example.com", **sent)
        assert done.status_code == 303


@pytest.mark.parametrize("token", [None, "", "0" * 64, "é"])
def test_a_forged_form_is_refused(served, token):
    lab, ticket, _, browser = served
    fields = {"decision": "approve", "read": "yes"} | ({} if token is None else {"form_token": token})
    assert browser.submit(f"/tickets/{ticket}/decide", fields).status_code == 403
    assert lab.status(ticket) == "pending"


def test_a_form_without_its_cookie_is_refused(served):
    lab, ticket, server, browser = served
    fields = browser.form(f"/tickets/{ticket}") | {"decision": "approve", "read": "yes"}
    bare = Browser(server.base)
    for cookie in browser.cookies.jar:
        if cookie.name.endswith("_login"):
            bare.cookies.set(cookie.name, cookie.value)
    with bare:
        assert bare.submit(f"/tickets/{ticket}/decide", fields).status_code == 403
    assert lab.status(ticket) == "pending"


def test_the_cookie_of_forms_is_for_this_site_only(served):
    _, ticket, _, browser = served
    browser.get(f"/tickets/{ticket}")
    (cookie,) = [cookie for cookie in browser.cookies.jar if cookie.name.endswith("_form")]
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite") == "strict"


def test_forms_of_other_tabs_stay_valid(lab):
    lab.gated()
    first, second = lab.pending(), lab.pending()
    with lab.web() as server:
        browser = server.browser()
        one, two = (browser.form(f"/tickets/{ticket}") for ticket in (first, second))
        browser.get("/runs")
        # A page that another site led to: browsers send no strict cookie with it.
        strict = [cookie for cookie in browser.cookies.jar if cookie.name.endswith("_form")]
        for cookie in strict:
            browser.cookies.delete(cookie.name)
        browser.get(f"/tickets/{second}")
        for ticket, hidden in ((second, two), (first, one)):
            said = browser.submit(f"/tickets/{ticket}/decide", hidden | {"decision": "approve", "read": "yes"})
            assert said.status_code == 303


def test_the_form_of_a_browser_that_sends_no_origin_is_known_by_its_site(lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web() as server:
        browser = server.browser()
        fields = browser.form(f"/tickets/{ticket}") | {"decision": "approve", "read": "yes"}
        headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}  # as Chromium does under no-referrer
        assert browser.post(f"/tickets/{ticket}/decide", data=fields, headers=headers).status_code == 303


@pytest.mark.parametrize(
    "named", [["evil.example"], ["127.0.0.1"], ["127.0.0.1:1"], [], ["{own}", "evil.example"], ["{own}", "{own}"]]
)
def test_another_name_for_loopback_is_refused(served, named):
    _, ticket, server, browser = served
    own = server.base.removeprefix("http://")
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.cookies.jar)
    headers = [("Host", name.replace("{own}", own)) for name in named]
    status, text = raw(server.base, "GET", "/tickets", [*headers, ("Cookie", cookies)])
    assert status in (400, 421)
    assert ticket not in text


def test_localhost_is_a_name_of_loopback(served):
    _, _ticket, server, browser = served
    port = server.base.rpartition(":")[2]
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.cookies.jar)
    assert raw(server.base, "GET", "/tickets", [("Host", f"localhost:{port}"), ("Cookie", cookies)])[0] == 200


def opened(server, number, data):
    """Connections that have sent something, and do not go on."""
    host, _, port = server.base.removeprefix("http://").partition(":")
    found = []
    for _ in range(number):
        one = socket.create_connection((host, int(port)), timeout=30)
        with suppress(OSError):
            one.sendall(data)
        found.append(one)
    return found


def closed(one):
    with suppress(ConnectionError):
        return one.recv(100) == b""
    return True


def test_more_connections_than_files_may_be_open_are_said_in_a_sentence(lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web(files=300) as server:
        browser = server.browser()
        idle = opened(server, 420, b"GET /healthz HT")
        wait_for(lambda: "more connections" in "".join(server.lines))
        for one in idle:
            one.close()
        wait_for(lambda: served_again(browser, ticket))
        text = "".join(server.lines)
    assert "Traceback" not in text
    assert text.count("more connections") == 1


def served_again(browser, ticket):
    with suppress(httpx2.HTTPError):
        return browser.get(f"/tickets/{ticket}").status_code == 200
    return False


@pytest.mark.parametrize("data", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: "])
def test_a_connection_that_sends_no_request_is_closed(served, data):
    _, _, server, _ = served
    began = time.monotonic()
    (one,) = opened(server, 1, data)
    with one:
        assert closed(one)
    assert time.monotonic() - began > 5


def test_a_request_that_breaks_off_is_no_error_here(served):
    _, ticket, server, browser = served
    host, _, port = server.base.removeprefix("http://").partition(":")
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.cookies.jar)
    head = f"POST /tickets/{ticket}/decide HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: {server.base}\r\n"
    for _ in range(3):
        with socket.create_connection((host, int(port)), timeout=20) as sent:
            sent.sendall(f"{head}Cookie: {cookies}\r\nContent-Length: 100\r\n\r\nabc".encode())
            time.sleep(0.1)
    assert browser.get("/tickets").status_code == 200
    time.sleep(0.3)
    assert "Traceback" not in "".join(server.lines)


@pytest.mark.parametrize("charset", ["undefined", "punycode", "idna", "no-such"])
def test_a_form_in_an_odd_charset_is_refused(served, charset):
    lab, ticket, server, browser = served
    body = '--b\r\nContent-Disposition: form-data; name="decision"\r\n\r\napprove_\xe9\r\n--b--\r\n'.encode()
    given = {"Origin": server.base, "Content-Type": f"multipart/form-data; boundary=b; charset={charset}"}
    answer = browser.post(f"/tickets/{ticket}/decide", content=body, headers=given)
    assert 400 <= answer.status_code < 500
    assert "Traceback" not in "".join(server.lines)
    assert lab.status(ticket) == "pending"


def test_too_much_is_not_read(served):
    lab, ticket, server, browser = served
    hidden = browser.form(f"/tickets/{ticket}")
    large = hidden | {"decision": "approve", "read": "yes", "reason": "x" * 70_000}
    assert browser.submit(f"/tickets/{ticket}/decide", large).status_code == 413
    host = ("Host", server.base.removeprefix("http://"))
    for length in ("70000", "-1", "9" * 30, "x"):
        assert raw(server.base, "POST", f"/tickets/{ticket}/decide", [host, ("Content-Length", length)])[0] in (
            400,
            413,
        )
    fields = {f"f{number}": "x" for number in range(500)}
    assert browser.submit(f"/tickets/{ticket}/decide", hidden | fields).status_code == 400
    assert lab.status(ticket) == "pending"


def test_too_much_in_pieces_is_not_read(served):
    lab, ticket, server, browser = served
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.cookies.jar)
    headers = {"Origin": server.base, "Cookie": cookies}
    assert in_pieces(server.base, f"/tickets/{ticket}/decide", headers) == 413
    assert lab.status(ticket) == "pending"


@pytest.mark.parametrize(
    "path",
    [
        "/tickets/..",
        "/tickets/../../etc/passwd",
        "/tickets/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/tickets/..%2f..%2fgert-project.yaml",
        "/tickets/t-%00",
        "/tickets/" + "a" * 4000,
        "/runs/..",
        "/runs/%2e%2e%2f",
        "/runs/..%2f..%2fetc/events",
        "/runs/%2e%2e/answer/x",
        "/runs/nope",
        "/runs/nope/answer/../../x",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2f..%2fcommand.py",
        "/callbacks/..",
        "/callbacks/inbox",
        "/callbacks/nope/%2e%2e",
        "/start",
        "/nowhere",
    ],
)
def test_a_path_that_leads_elsewhere_leads_nowhere(served, path):
    _, _, server, browser = served
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.cookies.jar)
    headers = [("Host", server.base.removeprefix("http://")), ("Cookie", cookies)]
    status, text = raw(server.base, "GET", path, headers)
    assert status == 404, text
    assert "root:" not in text
    assert "import" not in text


def test_what_takes_a_form_cannot_be_opened_and_the_other_way_round(served):
    _, ticket, _, browser = served
    assert browser.get(f"/tickets/{ticket}/decide").status_code == 405
    assert browser.submit("/tickets", {}).status_code == 405
    assert browser.request("DELETE", f"/tickets/{ticket}").status_code == 405


def test_callbacks_have_a_port_of_their_own(lab):
    from webs import free_port

    lab.gated()
    port = free_port()
    with lab.web("--callbacks-bind", f"127.0.0.1:{port}") as server:
        assert server.base
        apart = Browser(f"http://127.0.0.1:{port}")
        with apart:
            assert apart.get("/healthz").status_code == 200
            assert apart.get("/tickets").status_code == 404
            assert apart.get(server.login).status_code == 404
            assert "takes callbacks" in apart.post("/callbacks/pager").text
        assert server.browser().post("/callbacks/pager").text == "there is nothing here\n"

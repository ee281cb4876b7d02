"""A server without the SDK, which speaks 2025-11-25 and misbehaves by its argument and by the names of its tools.

Every start and every call that it receives is appended to the file $LOG.
"""

import json
import os
import sys
import time
from pathlib import Path

LOG = Path(os.environ["LOG"])


def log(text):
    with LOG.open("a") as file:
        file.write(text + "\n")


def answer(request, result):
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


def text(value):
    return {"content": [{"type": "text", "text": value}]}


log("start " + " ".join(sys.argv[1:]))
mode = sys.argv[1] if len(sys.argv) > 1 else ""
if mode == "dead":
    print("no licence", file=sys.stderr, flush=True)
    sys.exit(3)
if mode == "dead-once" and LOG.read_text().count("start") == 1:
    sys.exit(3)
if mode == "chatty":
    print("Welcome to the server", flush=True)
schema = {"type": "object"}
names = ["look", "die", "die-once", "hang", "flood", "lie", "token", "after", "both", "two", "raise", "never"]
slow = ["slow-pattern", "slow-references"]
for line in sys.stdin:
    request = json.loads(line)
    method = request["method"]
    if method == "initialize":
        if mode == "mute":
            time.sleep(60)
        answer(
            request,
            {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "plain", "version": "1"},
            },
        )
    elif method == "tools/list":
        listed = [{"name": n, "inputSchema": schema} for n in [*names, *slow]]
        twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
        listed[-2]["outputSchema"] = {**schema, "properties": {"a": {"pattern": "^(a|a)*b$"}}}
        listed[-1]["outputSchema"] = {**schema, "allOf": [{"$ref": "#/$defs/d0"}], "$defs": {**twice, "d40": {}}}
        listed[5]["outputSchema"] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        answer(request, {"tools": listed})
    elif method == "tools/call":
        name, arguments = request["params"]["name"], request["params"].get("arguments", {})
        log("call " + name)
        if name == "die" or (name == "die-once" and LOG.read_text().count("call die-once") == 1):
            print("out of memory", file=sys.stderr, flush=True)
            os._exit(9)
        if name == "hang":
            time.sleep(60)
        if name == "flood":
            sys.stdout.write("x" * (11 * 1024 * 1024) + "\n")
            sys.stdout.flush()
            continue
        if name == "lie":
            answer(request, {"content": [], "structuredContent": {"n": "not a number"}})
            continue
        if name == "raise":
            print(
                json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": {"code": 7, "message": "no such host"}}),
                flush=True,
            )
            continue
        if name in slow:
            answer(request, {"content": [], "structuredContent": {"a": "a" * 60}})
            continue
        if name == "token":
            answer(request, text(os.environ.get("TOKEN", "")))
        elif name == "both":
            answer(request, {**text("as text"), "structuredContent": {"seen": 1, "more": 2}})
        elif name == "two":
            answer(request, {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})
        else:
            answer(request, text(json.dumps({"pid": os.getpid(), "arguments": arguments})))
        if name == "after":
            sys.exit(0)
    elif "id" in request:
        print(
            json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "unknown"}}),
            flush=True,
        )

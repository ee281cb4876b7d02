"""HTTP requests within a time, for plugins: one exchange, what it came to, and signatures."""

from __future__ import annotations

from gert_http.delivering import deliver
from gert_http.exchange import LARGEST, HttpResponse, NoAnswerError, get, post
from gert_http.messages import send_message
from gert_http.signing import APART, is_signed, signature

__all__ = [
    "APART",
    "LARGEST",
    "HttpResponse",
    "NoAnswerError",
    "deliver",
    "get",
    "is_signed",
    "post",
    "send_message",
    "signature",
]

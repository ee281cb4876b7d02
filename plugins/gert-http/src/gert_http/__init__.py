"""HTTP requests within a time, for plugins: one exchange, what it came to as a delivery, and signatures."""

from __future__ import annotations

from gert_http.delivering import deliver
from gert_http.exchange import LARGEST, HttpResponse, NoAnswerError, post
from gert_http.signing import signature

__all__ = ["LARGEST", "HttpResponse", "NoAnswerError", "deliver", "post", "signature"]

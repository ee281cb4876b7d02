"""Signs and verifies with HMAC-SHA256."""

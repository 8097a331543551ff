"""Files over HTTP: resumed where they stopped, retried when the network fails."""

import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx


def http_client(timeout: float) -> "httpx.AsyncClient":
    """A client that trusts what the system trusts and follows redirects."""
    import httpx

    context = ssl.create_default_context()
    trusted: ssl.SSLContext | bool = context if context.cert_store_stats()["x509_ca"] else True
    return httpx.AsyncClient(timeout=timeout, follow_redirects=True, verify=trusted)


async def size_of(client: "httpx.AsyncClient", url: str) -> int | None:
    """The size of a file, or None when the server does not say."""
    import httpx

    try:
        reply = await client.head(url, headers={"Accept-Encoding": "identity"})
    except httpx.HTTPError:
        return None
    length = reply.headers.get("Content-Length", "")
    return int(length) if reply.is_success and length.isdigit() else None


async def answers(client: "httpx.AsyncClient", url: str) -> bool:
    """Whether the page is there, within the client's timeout."""
    import httpx

    try:
        return (await client.head(url)).is_success
    except httpx.HTTPError:
        return False

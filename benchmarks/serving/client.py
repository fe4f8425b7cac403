"""Run a minimal client, so that a thousand of them leave the processor to the server."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time

# A connection that is closed so is reset.
RESET = struct.pack("ii", 1, 0)


def message(path, content, **headers):
    """Return a request's bytes."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def answered(reader):
    """`(status, headers, body)` of an answer; the status is 0 where the connection ended before it."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        lines = head.split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
        length = headers.get("content-length")
        body = await (reader.read() if length is None else reader.readexactly(int(length)))
        return int(lines[0].split()[1]), headers, body
    except (OSError, asyncio.IncompleteReadError):
        return 0, {}, b""


async def connected(place):
    """A connection; of many at a time some are refused for a moment."""
    for _ in range(200):
        try:
            return await asyncio.open_connection(*place, limit=1 << 20)
        except OSError:
            await asyncio.sleep(0.05)
    raise TimeoutError(f"{place}: no connection")


async def one(place, content):
    """The answer to a request on a connection of its own."""
    reader, writer = await connected(place)
    try:
        writer.write(content)
        return await answered(reader)
    finally:
        writer.close()


async def many(place, contents, workers):
    """Statuses and seconds of requests by so many clients at once, each with a connection, and the seconds of all."""
    left, statuses, seconds = iter(contents), [], []

    async def work():
        reader, writer = await connected(place)
        for content in left:
            start = time.perf_counter()
            writer.write(content)
            status, headers, _ = await answered(reader)
            seconds.append(time.perf_counter() - start)
            statuses.append(status)
            if not status or headers.get("connection") == "close":
                writer.close()
                reader, writer = await connected(place)
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(workers)))
    return statuses, seconds, time.perf_counter() - start


async def gone(place, content, after, reset):
    """Send a request, or its beginning, and go away after some seconds without a word, or with a reset."""
    _, writer = await connected(place)
    if reset:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.write(content)
    await asyncio.sleep(after)
    writer.transport.abort() if reset else writer.close()

"""Downloads over HTTP that go on where they stopped, whatever stopped them."""

import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pooch
import requests
import urllib3
from rich.filesize import decimal

from hnclip.data.progress import progress
from hnclip.store import read_json, write_json

TRIES = 6  # failures in a row, without a new byte, after which it gives up
MOST = 1000  # tries in all
PAUSE = 1.0  # seconds before the second try; doubled for each one after
LONGEST = 120.0
TIMEOUT = (30, 60)  # seconds for a connection, and between two pieces of a file
PARTS = ".part"  # folder beside the files, for what is not whole yet
CHUNK = 2**16  # bytes received at once
_PASSING = {408, 425, 429, 500, 502, 503, 504}


class _Passing(Exception):
    """A failure that may pass; `pause` in seconds where the server asked for one."""

    def __init__(self, reason: str, pause: float = 0.0):
        super().__init__(reason)
        self.pause = pause


def download(url: str, target: Path, sha256: str | None = None) -> None:
    """Write the file at an address to `target` once it is whole and has the hash, where that is known.

    What an earlier call received is kept and continued. Raises ValueError for another hash, with both, and OSError
    where it cannot be had or would not fit on the disk.
    """
    target = Path(target)
    whole = target.parent / PARTS / "whole"
    shutil.rmtree(whole, ignore_errors=True)
    part = Resuming(target.parent / PARTS / target.name, sha256)
    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(url, known_hash=sha256, fname=target.name, path=whole, downloader=part)
        (whole / target.name).replace(target)
        part.forget()
    except ValueError:
        part.forget()
        raise
    finally:
        shutil.rmtree(whole, ignore_errors=True)


class Resuming:
    """A downloader for pooch that keeps what it received in the file `part`, and in `part`.json of which file it is."""

    def __init__(self, part: Path, sha256: str | None):
        self.part, self.sha256 = part, sha256
        self.state_path = part.with_name(f"{part.name}.json")

    def __call__(self, url: str, output_file: str, pooch: Any, check_only: bool = False) -> None:
        failures, most = 0, self._size() if self._state(url) else 0
        for attempt in range(1, MOST + 1):
            try:
                self._go_on(url)
                break
            except _Passing as error:
                failures = 1 if self._size() > most else failures + 1
                most = max(most, self._size())  # what a server without ranges sends again is no progress
                if failures >= TRIES or attempt == MOST:
                    count = f"{attempt} times" if attempt == MOST else f"{TRIES} times in a row"
                    kept = f"; {decimal(self._size())} are kept, run again to go on from there" if self._size() else ""
                    raise OSError(f"{shown(url)} failed {count}, at last with: {error}{kept}") from error
                pause = min(max(PAUSE * 2 ** (failures - 1), error.pause), LONGEST)
                print(f"{self.part.name}: {error}; trying again in {pause:.0f} s", flush=True)
                time.sleep(pause)
        Path(output_file).unlink(missing_ok=True)
        try:
            os.link(self.part, output_file)  # the part stays until the hash is known
        except OSError:
            self.part.replace(output_file)

    def forget(self) -> None:
        """Remove what was received."""
        self.part.unlink(missing_ok=True)
        self.state_path.unlink(missing_ok=True)

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _state(self, url: str) -> dict[str, Any]:
        """What is known of the part, nothing where it cannot be told that the server still has the same file."""
        if not self._size() or not self.state_path.exists():
            return {}
        try:
            state = read_json(self.state_path)
        except ValueError:
            return {}
        if not isinstance(state, dict) or not {"url", "version", "size"} <= state.keys():
            return {}
        same = state["url"] == shown(url) and state["size"] and (state["version"] or self.sha256)
        return state if same else {}

    def _go_on(self, url: str) -> None:
        """Ask for what is lacking, and receive it. Raises _Passing, or OSError where trying again is no use."""
        state = self._state(url)
        have = self._size() if state else 0
        if have and have == state["size"]:
            return
        headers = {"Accept-Encoding": "identity", "User-Agent": "hnclip"}
        if have:
            headers["Range"] = f"bytes={have}-"
            headers |= {"If-Range": state["version"]} if state["version"] else {}
        try:
            with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
                if response.status_code != 206:
                    have, state = 0, self._begin(url, response)
                elif response.headers.get("Content-Range") != f"bytes {have}-{state['size'] - 1}/{state['size']}":
                    self.forget()
                    raise _Passing(f"answered with the range {response.headers.get('Content-Range')!r}")
                self._receive(response, have, state["size"])
        except (requests.exceptions.SSLError, urllib3.exceptions.SSLError) as error:
            reason = f"its certificate is not accepted ({shown(str(error))}); fetch it in another way"
            raise OSError(f"{shown(url)}: {reason}") from error
        except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema) as error:
            raise OSError(f"{shown(url)} is no address to download from ({shown(str(error))})") from error
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise _Passing(_reason(error)) from error

    def _begin(self, url: str, response: requests.Response) -> dict[str, Any]:
        """The state of a file that is received from its start."""
        status = f"{response.status_code} {response.reason}"
        if response.status_code == 416:
            self.forget()
            raise _Passing(f"answered {status}")
        if response.status_code in _PASSING:
            asked = response.headers.get("Retry-After", "")
            raise _Passing(f"answered {status}", float(asked) if re.fullmatch(r"\d{1,4}", asked) else 0.0)
        if response.status_code != 200:
            raise OSError(f"{shown(url)}: answered {status}")
        size, etag = response.headers.get("Content-Length"), response.headers.get("ETag", "")
        version = etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified", "")
        size = None if self._is_to_decode(response) else size
        state = {"url": shown(url), "version": version, "size": int(size) if size else None}
        self.forget()
        write_json(self.state_path, state)
        return state

    def _is_to_decode(self, response: requests.Response) -> bool:
        """True for what was encoded unasked; of a .gz, some servers call its own compression an encoding."""
        encoding = response.headers.get("Content-Encoding", "identity")
        return encoding != "identity" and not self.part.name.endswith((".gz", ".tgz"))

    def _receive(self, response: requests.Response, have: int, size: int | None) -> None:
        free = shutil.disk_usage(self.part.parent).free
        if size and size - have > free:
            raise OSError(
                f"{self.part.name} does not fit into {self.part.parent.parent}: it lacks {decimal(size - have)}, "
                f"and {decimal(free)} are free; make room and run again"
            )
        with (
            self.part.open("ab" if have else "wb") as file,
            progress(self.part.name, have, size) as advance,
        ):
            for data in response.raw.stream(CHUNK, decode_content=self._is_to_decode(response)):
                file.write(data)
                file.flush()
                advance(len(data))
                if size is not None and file.tell() > size:
                    self.forget()
                    raise OSError(f"{self.part.name}: the server sends more than the {size} bytes it announced")
        if size is not None and self._size() != size:
            raise _Passing(f"the connection ended after {self._size()} of {size} bytes")


def _reason(error: Exception) -> str:
    """What a failed request says, in one short line."""
    text = shown(str(error)).replace("\n", " ")
    return f"{type(error).__name__}: {text[:200]}"


def shown(text: str) -> str:
    """The text without user names and passwords in its addresses."""
    return re.sub(r"://[^/?#\s]*@", "://", text)

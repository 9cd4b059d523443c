"""The server: views at addresses, refusals, cancelling."""

from __future__ import annotations

import csv
import io
import re
import threading
from html.parser import HTMLParser
from urllib.parse import urlencode

import numpy as np
import pytest
from explored import KNOWS, LIKES, NAMES, QUOTES, SCRIPT
from starlette.testclient import TestClient

from kgagg.explore.archive import write_archive
from kgagg.explore.explorer import Explorer, View
from kgagg.explore.server import application

ADDRESSES = (
    "/",
    "/ask",
    "/rules",
    "/rule?number=1",
    *(f"/entity?{urlencode({'name': name})}" for name in NAMES),
    *(f"/search?{urlencode({'text': name})}" for name in NAMES),
    *(f"/ask?{urlencode({'head': name, 'relation': KNOWS, 'beside': 'max+'})}" for name in NAMES),
    f"/ask?{urlencode({'head': SCRIPT, 'tail': QUOTES})}",
    f"/why?{urlencode({'head': SCRIPT, 'relation': KNOWS, 'tail': QUOTES})}",
    f"/rules?{urlencode({'relation': KNOWS})}",
)


@pytest.fixture
def client(explorer: Explorer) -> TestClient:
    return TestClient(application(explorer), base_url="http://127.0.0.1:8765")


class Tags(HTMLParser):
    """The tags of a page, and its links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.handlers: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.links += [value for name, value in attrs if name == "href" and value]


@pytest.mark.parametrize("where", ADDRESSES)
def test_names_are_text_and_links_lead_somewhere(client: TestClient, where: str) -> None:
    page = client.get(where)
    assert page.status_code == 200
    found = Tags(page.text)
    assert not found.tags & {"img", "i", "b", "iframe"} - ({"b"} if "/why" in where else set())
    assert not found.handlers
    assert page.text.count("<script") == 1  # its own
    assert "49" not in re.sub(r"[\d.,%]*49[\d.,%]+|[\d.,]+49", "", page.text)
    for link in found.links:
        if not link.startswith("#"):
            assert client.get(link).status_code == 200, link


@pytest.mark.parametrize("where", [one for one in ADDRESSES if one != "/ask"])
def test_what_is_seen_can_be_saved(client: TestClient, where: str) -> None:
    answer = client.get(where, params={"format": "csv"} if "?" not in where else None)
    if "?" in where:
        answer = client.get(f"{where}&format=csv")
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.reader(io.StringIO(answer.text)))
    assert len({len(row) for row in rows}) == 1


def test_names_are_suggested(client: TestClient) -> None:
    found = client.get("/find", params={"text": "likes", "kind": "relation"}).json()
    assert found == [{"kind": "relation", "name": LIKES, "label": LIKES}]


def test_wrong_questions_are_answered_in_words(client: TestClient) -> None:
    for where, told in (
        ("/entity?name=plian", "plain"),
        ("/rule?number=x", "expected a number"),
        ("/rules?page=0", "expected 1 or more"),
        ("/ask?head=plain&relation=nothing", "nothing"),
    ):
        answer = client.get(where)
        assert answer.status_code == 404
        assert told in answer.text


def test_other_hosts_and_origins_are_refused(client: TestClient) -> None:
    assert client.get("/", headers={"host": "evil.example:8765"}).status_code == 400
    assert client.get("/find?text=a", headers={"origin": "http://evil.example"}).status_code == 403
    assert client.get("/", headers={"origin": "http://127.0.0.1:8765"}).status_code == 200
    assert client.post("/ask").status_code == 405
    assert client.get("/find", params={"text": "x" * 9000}).status_code == 414
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_elsewhere_a_token_is_needed(explorer: Explorer) -> None:
    app = application(explorer, host="0.0.0.0", token="secret")
    client = TestClient(app, base_url="http://far.example")
    assert client.get("/").status_code == 403
    assert client.get("/?token=wrong").status_code == 403
    assert client.get("/?token=secret").status_code == 200
    assert client.get("/rules").status_code == 200
    assert client.cookies.get("kgagg-token") == "secret"


def test_a_slow_query_ends_and_holds_up_no_other(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    def slow(self: Explorer, *words: str, stop: np.ndarray, **more: str) -> View:
        while not stop[0]:
            threading.Event().wait(0.01)
        ended.set()
        raise AssertionError("nobody waits for it")

    monkeypatch.setattr(Explorer, "ask", slow)
    client = TestClient(application(explorer, seconds=0.3), base_url="http://127.0.0.1")
    found: list[int] = []
    thread = threading.Thread(
        target=lambda: found.append(client.get("/ask?head=plain&relation=x").status_code)
    )
    thread.start()
    assert client.get("/rules").status_code == 200
    thread.join()
    assert found == [504]
    assert ended.wait(60)


def test_pages_can_be_written(explorer: Explorer, tmp_path) -> None:  # type: ignore[no-untyped-def]
    numbers = explorer.graph.entities.id(SCRIPT), explorer.graph.relations.id(KNOWS)
    count = write_archive(explorer, [(*numbers, -1)], tmp_path / "pages")
    pages = sorted((tmp_path / "pages").glob("*.html"))
    assert len(pages) == count > 8
    kinds = {page.name.partition("-")[0].removesuffix(".html") for page in pages}
    assert kinds == {"index", "ask", "why", "rule", "entity"}
    reached, waiting = set(), ["index.html"]
    for page in pages:
        found = Tags(page.read_text())
        assert "script" not in found.tags
        for link in found.links:
            assert link.startswith("#") or (tmp_path / "pages" / link).exists()
    waiting = ["index.html"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            links = Tags((tmp_path / "pages" / name).read_text()).links
            waiting += [link for link in links if link.endswith(".html")]
    assert reached == {page.name for page in pages}
    before = {page: page.read_bytes() for page in pages}
    write_archive(explorer, [(*numbers, -1)], tmp_path / "pages")
    assert {page: page.read_bytes() for page in pages} == before

"""Drawings of groundings: well-formed, with every name, and nothing outside."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from kgagg.explanation.drawing import draw

FACT = ("anna", "knows", "ben")


@pytest.mark.parametrize(
    ("ways", "fact", "edges"),
    [
        # two ways, of which one is longer, with an entity in common
        (
            [
                [("anna", "likes", "carl"), ("carl", "knows", "ben")],
                [("dora", "likes", "anna"), ("dora", "is", "carl"), ("carl", "knows", "ben")],
            ],
            FACT,
            4,
        ),
        # from the tail alone; beside the fact; around one entity; about one entity; none at all
        ([[("ben", "likes", "carl")]], FACT, 1),
        ([[("anna", "likes", "ben")], [("ben", "likes", "anna")]], FACT, 2),
        ([[("anna", "likes", "carl"), ("carl", "likes", "carl")]], FACT, 2),
        ([[("anna", "likes", "carl")]], ("anna", "knows", "anna"), 1),
        ([[("a<b", "r&s", "x" * 60)]], ("a<b", "r'\"", "z"), 1),
    ],
)
def test_a_drawing(
    ways: list[list[tuple[str, str, str]]], fact: tuple[str, str, str], edges: int
) -> None:
    picture = ElementTree.fromstring(draw(ways, fact))
    classes = [element.get("class") for element in picture.iter()]
    assert classes.count("line") == edges
    assert classes.count("new") == 1
    names = {name for one in (fact, *(f for way in ways for f in way)) for name in (one[0], one[2])}
    assert classes.count("node") + classes.count("end") == len(names)
    texts = {element.text for element in picture.iter("text")}
    assert {name for name in names if len(name) < 30} <= texts
    left, top, width, height = map(float, picture.attrib["viewBox"].split())
    for box in picture.iter("rect"):
        x, y, w, h = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        assert left <= x
        assert x + w <= width
        assert top <= y
        assert y + h <= height

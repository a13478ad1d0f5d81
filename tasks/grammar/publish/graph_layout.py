"""Lay out a graph of artifacts in layers from left to right, with few edge crossings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 158, 74
"""The width and height of a node's box, in SVG units."""
ACROSS, DOWN = 46, 26
"""The horizontal and vertical gaps between boxes, in SVG units."""
MARGIN = 8
"""The margin around the graph, in SVG units."""
SWEEPS = 4
"""The number of times that all layers are sorted, forwards and then backwards, to reduce crossings."""


@dataclass(frozen=True)
class NodeBox:
    """A node's box. `x` and `y` are the coordinates of the box's upper left corner, in SVG units."""

    name: str
    x: float
    y: float
    width: float = WIDTH
    height: float = HEIGHT


@dataclass(frozen=True)
class Edge:
    """An edge. `path` is the `d` attribute of an SVG path."""

    source: str
    target: str
    path: str


@dataclass(frozen=True)
class Layout:
    """The boxes and edges of a graph, in SVG units."""

    width: float
    height: float
    boxes: tuple[NodeBox, ...]
    edges: tuple[Edge, ...]


def lay_out(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> Layout:
    """Lay out a directed graph.

    `names` contains the nodes. `edges` contains (source, target) pairs; an edge with an unknown name is
    ignored. Raises ValueError if the graph has a cycle.
    """
    known = sorted({edge for edge in edges if edge[0] in names and edge[1] in names})
    parents = {name: [source for source, target in known if target == name] for name in names}
    children = {name: [target for source, target in known if source == name] for name in names}
    depth = _measure_depths(names, parents)
    layers = [
        [name for name in names if depth[name] == level]
        for level in range(max(depth.values(), default=-1) + 1)
    ]
    for _ in range(SWEEPS):
        _sort_layers(layers, parents)
        _sort_layers(layers[::-1], children)
    tallest = max((len(layer) for layer in layers), default=0)
    height = 2 * MARGIN + max(tallest * (HEIGHT + DOWN) - DOWN, 0)
    boxes = {
        name: NodeBox(name, MARGIN + level * (WIDTH + ACROSS), _start(height, layer) + row * (HEIGHT + DOWN))
        for level, layer in enumerate(layers)
        for row, name in enumerate(layer)
    }
    width = 2 * MARGIN + max(len(layers) * (WIDTH + ACROSS) - ACROSS, 0)
    drawn = tuple(Edge(source, target, _draw(boxes[source], boxes[target])) for source, target in known)
    return Layout(width, height, tuple(boxes[name] for name in names), drawn)


def _measure_depths(names: Sequence[str], parents: Mapping[str, Sequence[str]]) -> dict[str, int]:
    depth: dict[str, int] = {}
    while len(depth) < len(names):
        ready = [
            name for name in names if name not in depth and all(parent in depth for parent in parents[name])
        ]
        if not ready:
            raise ValueError("the graph has a cycle")
        for name in ready:
            depth[name] = 1 + max((depth[parent] for parent in parents[name]), default=-1)
    return depth


def _sort_layers(layers: list[list[str]], neighbours: Mapping[str, Sequence[str]]) -> None:
    """Sort each layer in place by the mean row of its nodes' neighbours, so that few edges cross."""
    row = {name: index - len(layer) / 2 for layer in layers for index, name in enumerate(layer)}
    for layer in layers:
        layer.sort(key=lambda name: _mean([row[neighbour] for neighbour in neighbours[name]], row[name]))
        row |= {name: index - len(layer) / 2 for index, name in enumerate(layer)}


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _start(height: float, layer: Sequence[str]) -> float:
    return (height - (len(layer) * (HEIGHT + DOWN) - DOWN)) / 2


def _draw(source: NodeBox, target: NodeBox) -> str:
    x, y = source.x + source.width, source.y + source.height / 2
    end, low = target.x, target.y + target.height / 2
    # Edges bend near their source, so that long edges pass the boxes of other layers as straight lines.
    turned = min(x + ACROSS, end)
    turn = f"C{x + 0.6 * ACROSS:g} {y:g} {x + 0.3 * ACROSS:g} {low:g} {turned:g} {low:g}"
    return f"M{x:g} {y:g} {turn} L{end:g} {low:g}"

"""What the judge reads, as arrays and plain values, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..judge.place import TablePlace
from ..judge.ruler import Ruler
from ..judge.sum_row import BentTerm, SumRow
from ..judge.written_rows import WrittenRows
from .packing import Packer, Plain, Unpacker, require, whole
from .tapes import Sizes, tape_from, tape_to


def ruler_to(ruler: Ruler, packer: Packer) -> Plain:
    """What the judge reads as plain values, its tables by name."""
    return {
        "uncertain": [_rows_to(rows, packer) for rows in ruler.uncertain],
        "certain": [_rows_to(rows, packer) for rows in ruler.certain],
        "objective": tape_to(ruler.objective, packer),
        "cost": None if ruler.cost is None else _rows_to(ruler.cost, packer),
        "sense": ruler.sense,
        "lower": packer.array(ruler.lower),
        "upper": packer.array(ruler.upper),
        "whole": packer.array(ruler.whole),
        "starts": packer.array(ruler.starts),
    }


def ruler_from(about: Plain, reader: Unpacker, sizes: Sizes) -> Ruler:
    """The judge's reading that was written; ValueError if it cannot be."""
    width = sizes[0]
    lower = reader.numbers(about["lower"], (width,))
    upper = reader.numbers(about["upper"], (width,))
    require(bool((lower <= upper).all()), "bounds of the variables")
    starts = reader.positions(about["starts"], max(width, 1))
    require(bool((np.diff(starts) > 0).all()), "starts of the variables")
    sense = float(about["sense"])
    require(sense in (1.0, -1.0), "sense")
    cost = about["cost"]
    return Ruler(
        tuple(_rows_from(rows, reader, sizes) for rows in about["uncertain"]),
        tuple(_rows_from(rows, reader, sizes) for rows in about["certain"]),
        tape_from(about["objective"], reader, sizes),
        None if cost is None else _rows_from(cost, reader, sizes),
        sense,
        lower,
        upper,
        reader.flags(about["whole"], width),
        starts,
    )


def _rows_to(rows: WrittenRows, packer: Packer) -> Plain:
    def places(some: Any) -> Any:
        return None if some is None else [_place_to(place, packer) for place in some]

    return {
        "text": rows.text,
        "equal": rows.equal,
        "residual": tape_to(rows.residual, packer),
        "free": None if rows.free is None else tape_to(rows.free, packer),
        "sides": [tape_to(side, packer) for side in rows.sides],
        "plain": places(rows.plain),
        "places": places(rows.places),
        "sums": [_sum_to(row, packer) for row in rows.sums],
    }


def _rows_from(about: Plain, reader: Unpacker, sizes: Sizes) -> WrittenRows:
    def places(some: Any) -> tuple[TablePlace, ...]:
        return tuple(_place_from(place, reader, sizes) for place in some)

    free, plain = about["free"], about["plain"]
    rows = WrittenRows(
        str(about["text"]),
        bool(about["equal"]),
        tape_from(about["residual"], reader, sizes),
        None if free is None else tape_from(free, reader, sizes),
        tuple(tape_from(side, reader, sizes) for side in about["sides"]),
        None if plain is None else places(plain),
        places(about["places"]),
        (),
        tuple(_sum_from(row, reader, sizes) for row in about["sums"]),
    )
    require(len(rows.sums) in (0, rows.size), "sums of a constraint")
    require(rows.plain is None or len(rows.plain) == rows.size, "rows of a constraint")
    return rows


def _sum_to(row: SumRow, packer: Packer) -> Plain:
    assert row.linear is None or isinstance(row.linear, TablePlace)
    return {
        "linear": None if row.linear is None else _place_to(row.linear, packer),
        "terms": [
            {
                "places": [
                    _place_to(place, packer)
                    for place in term.places
                    if isinstance(place, TablePlace)
                ],
                "is_largest": term.is_largest,
            }
            for term in row.terms
        ],
    }


def _sum_from(about: Plain, reader: Unpacker, sizes: Sizes) -> SumRow:
    linear, terms = about["linear"], []
    for term in about["terms"]:
        require(len(term["places"]) > 0, "places of a term")
        places = tuple(_place_from(place, reader, sizes) for place in term["places"])
        terms.append(BentTerm(places, term["is_largest"] is True))
    return SumRow(
        None if linear is None else _place_from(linear, reader, sizes), tuple(terms)
    )


def _place_to(place: TablePlace, packer: Packer) -> Plain:
    return {
        "columns": packer.array(place.columns),
        "constant": packer.sparse(place.constant),
        "keys": [
            [key, packer.sparse(table), packer.array(place.entries[key])]
            for key, table in place.slopes.items()
        ],
    }


def _place_from(about: Plain, reader: Unpacker, sizes: Sizes) -> TablePlace:
    width, dims, ordinary = sizes
    columns = reader.positions(about["columns"], width)
    slopes, entries = {}, {}
    for key, table, where in about["keys"]:
        entries[key] = reader.positions(where, dims[whole(key, len(dims))])
        require(bool((np.diff(entries[key]) > 0).all()), "entries of a key")
        slopes[key] = reader.sparse(table, len(entries[key]), len(columns) + 1)
    constant = reader.sparse(about["constant"], len(columns) + 1, ordinary + 1)
    return TablePlace(columns, constant, slopes, entries)

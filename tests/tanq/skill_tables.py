"""Hand-made answer tables for tests of skills."""

from decimal import Decimal

from tasks.sources.wikidata.rows import ValueRow
from tasks.tanq.build.skill_table import BaseColumn, BaseRow, BaseTable
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.showing import ITEM, QUANTITY, TIME

COLUMNS = {
    "P36": BaseColumn("P36", "capitals", "capital", ITEM, "", "capital"),
    "P2046": BaseColumn("P2046", "areas", "area", QUANTITY, "square kilometre", "area"),
    "P1082": BaseColumn("P1082", "populations", "population", QUANTITY, "", "population"),
    "P37": BaseColumn("P37", "official languages", "official language", ITEM, "", "official_language"),
    "P569": BaseColumn("P569", "dates of birth", "date of birth", TIME, "", "date_of_birth"),
    "P570": BaseColumn("P570", "dates of death", "date of death", TIME, "", "date_of_death"),
    "P571": BaseColumn("P571", "inceptions", "inception", TIME, "", "inception"),
    "P576": BaseColumn("P576", "dissolutions", "dissolution", TIME, "", "dissolution"),
    "P2047": BaseColumn("P2047", "durations", "duration", QUANTITY, "minute", "duration"),
}
NORTH = {
    "Norway": {"P36": ["Oslo"], "P2046": ["385207"], "P1082": ["5425270"], "P37": ["Norwegian", "Sámi"]},
    "Sweden": {"P36": ["Stockholm"], "P2046": ["450295"], "P1082": ["10540886"], "P37": ["Swedish"]},
    "Finland": {
        "P36": ["Helsinki"],
        "P2046": ["338455"],
        "P1082": ["5614571"],
        "P37": ["Finnish", "Swedish"],
    },
    "Denmark": {"P36": ["Copenhagen"], "P2046": ["42943"], "P1082": ["5932654"], "P37": ["Danish"]},
}
MEN = {
    "Newton": {"P569": [(1642, 12, 25, "julian")], "P570": [(1727, 3, 20, "julian")]},
    "Einstein": {"P569": [(1879, 3, 14)], "P570": [(1955, 4, 18)]},
    "Caesar": {"P569": [(-100, 7, 12, "julian")], "P570": [(-44, 3, 15, "julian")]},
}


def make_fact(entity, relation, given):
    kind = COLUMNS[relation].kind
    if kind == TIME:
        year, month, day, *calendar = given
        value = ValueRow(
            "time", year=year, month=month, day=day, precision=11 if day else 9,
            calendar=calendar[0] if calendar else "gregorian",
        )  # fmt: skip
        shown = f"{abs(year)}-{month}-{day}" if day else str(abs(year))
    elif kind == QUANTITY:
        unit = {"P2046": "Q712226", "P2047": "Q7727"}.get(relation)
        value, shown = ValueRow("quantity", amount=given, number=float(Decimal(given)), unit=unit), given
    else:
        value, shown = ValueRow("item", item=f"thing/{given}"), given
    return Fact(f"{entity}-{relation}-{given}", entity, relation, value, shown, (), ())


def make_table(entities, relations):
    rows = tuple(
        BaseRow(
            name, name,
            tuple(
                tuple(make_fact(name, relation, given) for given in entity.get(relation, ()))
                for relation in relations
            ),
        )
        for name, entity in entities.items()
    )  # fmt: skip
    return BaseTable(tuple(COLUMNS[relation] for relation in relations), rows)


def make_tagged(table):
    named = [f"{column.words} ({column.tag})" for column in table.columns]
    return f"Which countries are in the north and what are their {', '.join(named[:-1])} and {named[-1]}?"

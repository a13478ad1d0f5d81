from __future__ import annotations

import sqlite3
import zipfile
from pathlib import Path

import pytest

from tasks.artifacts.rows import Counts
from tasks.errors import BadInput
from tasks.sources.flights import Flights, flights
from tasks.sources.flights_world import flights_world

FILES = {
    "flights.csv": """\
year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,dest,air_time,distance,hour
2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5
2013,1,1,533,529,4,850,830,20,UA,1714,N24211,LGA,IAH,227,1416,5
2013,1,1,544,545,-1,1004,1022,-18,B6,725,N804JB,JFK,BQN,183,1576,5
2013,1,2,554,558,-4,740,728,12,UA,1696,N24211,EWR,ORD,150,719,5
2013,1,2,NA,600,NA,NA,901,NA,UA,1124,N14228,EWR,ORD,NA,719,6
2013,12,31,2359,2359,0,440,440,0,UA,9,N14228,EWR,IAH,192,1400,23
2013,1,1,554,600,-6,812,837,-25,DL,461,N00000,LGA,ORD,116,762,6
2013,1,3,2400,2359,1,440,440,0,DL,462,N150AA,LGA,ORD,116,762,23
2013,1,3,NA,600,NA,NA,837,NA,DL,463,NA,LGA,ORD,NA,762,6
""",
    "airlines.csv": "carrier,name\nUA,United Air Lines Inc.\nB6,JetBlue Airways\nDL,Delta Air Lines Inc.\n",
    "airports.csv": """\
faa,name,lat,lon,alt,tz,dst,tzone
EWR,Newark Liberty Intl,40.6925,-74.168667,18,-5,A,America/New_York
LGA,La Guardia,40.777245,-73.872608,22,-5,A,America/New_York
JFK,John F Kennedy Intl,40.639751,-73.778925,13,-5,A,America/New_York
IAH,George Bush Intercontinental,29.984433,-95.341442,97,-6,A,America/Chicago
ORD,Chicago Ohare Intl,41.978603,-87.904842,668,-6,A,NA
SFO,San Francisco Intl,37.618972,-122.374889,13,-8,A,America/Los_Angeles
""",
    "planes.csv": """\
tailnum,year,type,manufacturer,model,engines,seats,speed,engine
N14228,1999,Fixed wing multi engine,BOEING,737-824,2,149,NA,Turbo-fan
N24211,NA,Fixed wing multi engine,BOEING,737-824,2,149,NA,Turbo-fan
N804JB,2012,Fixed wing multi engine,AIRBUS INDUSTRIE,A320-232,2,200,NA,Turbo-fan
N150AA,1959,Fixed wing single engine,CESSNA,150,1,2,90,Reciprocating
N999ZZ,1999,Fixed wing multi engine,BOEING,737-824,2,149,NA,Turbo-fan
""",
    "weather.csv": """\
origin,year,month,day,hour,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib
EWR,2013,1,1,5,39.02,28.04,64.43,260,12.65858,NA,0,1011.9,10
EWR,2013,1,1,6,39.02,26.96,61.63,NA,8.05546,NA,0,NA,10
LGA,2013,1,1,5,39.92,24.98,54.81,250,14.96014,21.86482,0,1011.4,10
JFK,2013,1,1,5,39.02,26.96,61.63,260,1048.36058,NA,0,1012.1,10
JFK,2013,11,3,1,51.98,39.02,61.15,310,6.90468,NA,0,1009.8,10
JFK,2013,11,3,1,50,39.02,65.8,290,5.7539,NA,0,1010.5,10
SFO,2013,1,1,5,39.92,24.98,54.81,250,14.96014,NA,0,1011.4,10
""",
}


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """The package's five files, truncated to a few rows; one plane and one airport of flights are missing."""
    folder = tmp_path / "sources"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    with zipfile.ZipFile(folder / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", FILES["flights.csv"])
    return folder


def build(sources: Path, out: Path, params: Flights) -> Counts:
    names = ("flights.csv.zip", "airlines.csv", "airports.csv", "planes.csv", "weather.csv")
    return flights(*(sources / name for name in names), params, out)


@pytest.fixture
def whole(sources: Path, tmp_path: Path) -> sqlite3.Connection:
    build(sources, tmp_path / "all.sqlite", Flights())
    return sqlite3.connect(tmp_path / "all.sqlite")


def test_what_is_left_out_or_made_null_is_counted_by_reason(sources: Path, tmp_path: Path) -> None:
    counts = build(sources, tmp_path / "out", Flights(month=1))
    assert counts.rows_in == 9 + 3 + 6 + 5 + 7
    assert counts.dropped == {
        "NULL: small plane under an airliner's tail number": 1,
        "NULL: wind over 200 miles an hour": 1,
        "airports without a flight": 1,
        "flight of another month": 1,
        "only a key: airports that are not described": 1,
        "only a key: planes that are not described": 1,
        "planes without a flight": 1,
        "weather of another month or airport": 3,
    }
    assert counts.rows_out == (9 - 1) + 3 + (6 - 1 + 1) + (5 - 1 + 1) + (7 - 3)


def test_a_month_is_that_month_of_the_whole(sources: Path, whole: sqlite3.Connection, tmp_path: Path) -> None:
    build(sources, tmp_path / "month", Flights(month=1))
    month = sqlite3.connect(tmp_path / "month")
    flown = "SELECT flight_date, flight_number FROM flights WHERE flight_date < '2013-02' ORDER BY 2"
    assert month.execute(flown).fetchall() == whole.execute(flown).fetchall()
    assert month.execute("SELECT count(*) FROM flights").fetchone() == (8,)
    assert month.execute("PRAGMA foreign_key_check").fetchall() == []


def test_the_world_is_the_whole_year(sources: Path, whole: sqlite3.Connection, tmp_path: Path) -> None:
    names = ("flights.csv.zip", "airlines.csv", "airports.csv", "planes.csv", "weather.csv")
    flights_world(*(sources / name for name in names), out=tmp_path / "world")
    assert (tmp_path / "world").read_bytes() == (tmp_path / "all.sqlite").read_bytes()


def test_no_flight_is_missing_from_a_count(whole: sqlite3.Connection) -> None:
    joined = "flights JOIN airports ON airport_code = destination_airport"
    flown = f"SELECT carrier_code, count(*) FROM {joined} GROUP BY 1 ORDER BY 1"
    assert whole.execute(flown).fetchall() == [("B6", 1), ("DL", 3), ("UA", 5)]
    assert whole.execute("SELECT * FROM airports WHERE airport_code = 'BQN'").fetchall() == [
        ("BQN", None, None, None, None, None)
    ]
    assert whole.execute("SELECT tail_number, seats FROM planes ORDER BY 1").fetchall() == [
        ("N00000", None),
        ("N14228", 149),
        ("N150AA", None),
        ("N24211", 149),
        ("N804JB", 200),
    ]
    assert whole.execute("SELECT tail_number FROM flights WHERE flight_number = 463").fetchall() == [(None,)]


def test_one_maker_has_one_name(whole: sqlite3.Connection) -> None:
    assert whole.execute("SELECT manufacturer FROM planes WHERE tail_number = 'N804JB'").fetchall() == [
        ("AIRBUS",)
    ]


def test_midnight_is_read_as_clocks_do(whole: sqlite3.Connection) -> None:
    assert whole.execute("SELECT departure_time FROM flights WHERE flight_number = 462").fetchall() == [
        ("00:00",)
    ]


def test_an_hour_that_came_twice_has_no_weather(whole: sqlite3.Connection) -> None:
    assert whole.execute("SELECT count(*) FROM weather WHERE observation_time > '2013-02'").fetchone() == (0,)
    assert whole.execute("SELECT wind_speed_mph FROM weather WHERE airport_code = 'JFK'").fetchall() == [
        (None,)
    ]


def test_na_is_null(whole: sqlite3.Connection) -> None:
    late = "SELECT departure_time, arrival_delay_minutes FROM flights WHERE flight_number = 1124"
    assert whole.execute(late).fetchall() == [(None, None)]
    years = "SELECT manufacture_year FROM planes WHERE seats = 149 ORDER BY 1"
    assert whole.execute(years).fetchall() == [(None,), (1999,)]
    assert whole.execute("SELECT time_zone FROM airports WHERE airport_code = 'ORD'").fetchone() == (None,)


def test_a_flight_reads_as_it_was(whole: sqlite3.Connection) -> None:
    row = whole.execute(
        "SELECT flight_date, scheduled_departure_time, departure_time, departure_delay_minutes, "
        "destination_airport, airline_name FROM flights JOIN airlines USING (carrier_code) "
        "WHERE flight_number = 1545"
    ).fetchone()
    assert row == ("2013-01-01", "05:15", "05:17", 2, "IAH", "United Air Lines Inc.")


def test_an_hour_of_weather_reads_as_it_was(whole: sqlite3.Connection) -> None:
    row = whole.execute(
        "SELECT temperature_fahrenheit, wind_direction_degrees, pressure_millibars FROM weather "
        "WHERE airport_code = 'EWR' AND observation_time = '2013-01-01 06:00'"
    ).fetchone()
    assert row == (39.02, None, None)


def test_the_same_bytes_twice_and_from_rows_in_another_order(sources: Path, tmp_path: Path) -> None:
    build(sources, tmp_path / "a", Flights(month=1))
    head, *rows = FILES["airports.csv"].splitlines()
    (sources / "airports.csv").write_text("\n".join([head, *reversed(rows)]) + "\n")
    build(sources, tmp_path / "b", Flights(month=1))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "sources"]


def test_a_broken_archive_is_named(sources: Path, tmp_path: Path) -> None:
    (sources / "flights.csv.zip").write_text("no archive")
    with pytest.raises(BadInput, match=r"flights\.csv\.zip: cannot be read"):
        build(sources, tmp_path / "out", Flights())


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("airlines.csv", "carrier,title\nUA,United\n", "name"),
        ("planes.csv", "tail,year\nN1,1999\n", "tailnum, type, manufacturer, model, engines, seats, engine"),
        ("weather.csv", FILES["weather.csv"].replace(",hour,", ",hr,"), "hour"),
        ("airports.csv", "", "faa, name, lat, lon, alt, tzone"),
    ],
)
def test_missing_columns_are_named_with_their_file(
    sources: Path, tmp_path: Path, name: str, text: str, columns: str
) -> None:
    (sources / name).write_text(text)
    with pytest.raises(BadInput) as caught:
        build(sources, tmp_path / "out", Flights())
    assert str(caught.value) == f"{sources / name}: has no column {columns} (run the stage sources.packages)"
    assert not (tmp_path / "out").exists()

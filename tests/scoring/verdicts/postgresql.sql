CREATE TYPE mood AS ENUM ('low', 'middle', 'high');
CREATE TYPE point2 AS (x integer, y integer);
CREATE DOMAIN good_year AS integer CHECK (VALUE > 1000);
CREATE TABLE clocks (
    id integer PRIMARY KEY, title text, maker integer, grade mood, founded good_year, made date,
    sold timestamp, checked timestamptz, opens time, tags text[], marks numeric(6, 2)[], extra jsonb, note json,
    running interval, weight numeric, speed double precision, gauge real, seats int4range, costs numrange,
    open_days daterange, cover bytea, code char(5), flags bit(4), is_new boolean, place point2, moods mood[],
    days date[], host inet);
INSERT INTO clocks VALUES
    (1, 'Alder', 1, 'low', 1901, '2001-02-03', '2001-02-03 00:00', '2001-02-03 00:00+00', '10:00', '{a,b}',
     '{1.50,2}', '{"a": 1, "b": [1, 2]}', '{"b": [1, 2], "a": 1}', '1 day', 1.50, 1.5, 0.1, '[1,5)', '[1.0,2)',
     '[2020-01-01,2020-02-01)', '\x00ff', 'ab', B'0101', true, '(1,2)', '{low,high}', '{2001-02-03}', '10.0.0.1'),
    (2, 'Birch', 1, 'high', 1902, 'infinity', 'infinity', '2001-02-03 12:30+02', '11:30:15.5', '{}', NULL,
     '{"a": 1.0}', '{"a": 1.0}', '24:00:00', 'NaN', 'NaN', 'NaN', 'empty', '(,)', '[2020-01-01,)', '\x61',
     'abc', B'0000', false, '(3,4)', '{}', '{infinity}', '10.0.0.0/8'),
    (3, 'Cedar', 2, 'middle', 1903, '0044-03-15 BC', '-infinity', 'infinity', '00:00', '{b,a}', '{NULL,1}',
     'null', 'null', '1 mon', 2, 'Infinity', 2, '[1,4]', '[1,2.00)', 'empty', '', '', B'1111', NULL, NULL,
     '{middle}', '{}', '::1'),
    (4, 'Elm', 2, 'low', 1904, '2004-02-29', '2004-02-29 10:00:00.5', '2004-06-29 10:00+00', '23:59:59',
     '{a,NULL}', '{}', '[1, "x", null, true]', '[]', '30 days', 0.1, 0.1, -0.5, '[2,3)', NULL,
     '[2020-01-01,2020-01-31]', NULL, NULL, NULL, true, '(1,)', NULL, NULL, NULL),
    (5, 'Fir', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

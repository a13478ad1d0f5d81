CREATE TABLE clocks (
    id INTEGER PRIMARY KEY, title VARCHAR(20), maker INTEGER, grade ENUM('low', 'middle', 'high'),
    colours SET('red', 'green', 'blue'), made DATE, sold DATETIME(3), checked TIMESTAMP NULL, opens TIME(2),
    year YEAR, extra JSON, weight DECIMAL(6, 2), speed DOUBLE, flags BIT(8), is_new BOOLEAN, cover VARBINARY(9),
    code CHAR(5)) CHARACTER SET utf8mb4;
INSERT INTO clocks VALUES
    (1, 'Alder', 1, 'low', 'red,blue', '2001-02-03', '2001-02-03', '2001-02-03', '10:00', 2001,
     '{"a": 1, "b": [1, 2]}', 1.5, 1.5, b'101', TRUE, x'00ff', 'ab'),
    (2, 'Birch', 1, 'high', '', '2004-02-29', '2004-02-29 10:00:00.5', '2004-02-29 10:00:00', '838:59:59', 1999,
     '{"a": 1.0}', 2, 2e0, b'0', FALSE, x'61', 'abc'),
    (3, 'Cedar', 2, 'middle', 'green', '1970-01-01', '1970-01-01', '1970-01-02', '-01:00:00.5', 2155, 'null', 0.1,
     0.1, b'11111111', NULL, '', ''),
    (4, 'Elm', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

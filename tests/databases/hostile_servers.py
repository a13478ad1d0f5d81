"""Statements that must change nothing on a server, end in time and stay small, by engine.

`{folder}`: a folder that anybody may write to.
"""

from __future__ import annotations

BOTH: dict[str, str] = {
    "insert": "INSERT INTO authors VALUES (999, 'Mallory', NULL)",
    "update": "UPDATE books SET title = 'x'",
    "delete": "DELETE FROM books",
    "drop": "DROP TABLE books",
    "truncate": "TRUNCATE TABLE books",
    "create": "CREATE TABLE evil (x INTEGER)",
    "create as": "CREATE TABLE evil AS SELECT * FROM books",
    "temporary table": "CREATE TEMPORARY TABLE evil (x INTEGER)",
    "alter": "ALTER TABLE books RENAME TO evil",
    "grant": "GRANT ALL ON books TO PUBLIC",
    "stacked": "SELECT 1; DELETE FROM books",
    "stacked selects": "SELECT 1; SELECT 2",
    "hidden by comment": "SELECT/**/1;/**/DELETE/**/FROM/**/books",
    "begin": "BEGIN",
    "commit": "COMMIT",
    "read write": "START TRANSACTION READ WRITE",
    "prepare": "PREPARE evil FROM 'DELETE FROM books'",
    "execute": "EXECUTE evil",
    "for update": "SELECT * FROM books FOR UPDATE",
    "for share": "SELECT * FROM books FOR SHARE",
    "call": "CALL evil()",
    "explain analyze": "EXPLAIN ANALYZE DELETE FROM books",
    "catalogue": "SELECT table_name FROM information_schema.tables",
    "cross join": "SELECT count(*) FROM books a, books b, books c, books d",
    "cross join rows": "SELECT a.*, b.* FROM books a, books b, books c",
    "cross join sort": "SELECT a.title FROM books a, books b, books c "
    "ORDER BY concat(a.title, b.title, c.title)",
    "cross join distinct": "SELECT DISTINCT concat(a.title, b.title) FROM books a, books b, books c",
    "deep brackets": "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
    "many terms": "SELECT " + " + ".join(["1"] * 10_000),
    "nothing": "",
    "random order": "SELECT title FROM books ORDER BY random()",
}
POSTGRESQL: dict[str, str] = {
    "copy program": "COPY books TO PROGRAM 'touch {folder}/evil'",
    "copy to file": "COPY books TO '{folder}/evil'",
    "copy from program": "COPY books FROM PROGRAM 'cat /etc/passwd'",
    "pg_read_file": "SELECT pg_read_file('/etc/passwd')",
    "pg_read_binary_file": "SELECT pg_read_binary_file('/etc/passwd')",
    "pg_ls_dir": "SELECT pg_ls_dir('/')",
    "lo_import": "SELECT lo_import('/etc/passwd')",
    "lo_export": "SELECT lo_export(1, '{folder}/evil')",
    "lo_create": "SELECT lo_create(4711)",
    "lo_from_bytea": "SELECT lo_from_bytea(4712, 'evil')",
    "pg_sleep": "SELECT pg_sleep(60)",
    "named pg_sleep": "SELECT pg_catalog.pg_sleep(60)",
    "quoted pg_sleep": 'SELECT "pg_sleep"(60)',
    "sleep in where": "SELECT 1 FROM books WHERE pg_sleep(1) IS NULL",
    "advisory lock": "SELECT pg_advisory_lock(4711)",
    "shared advisory lock": "SELECT pg_try_advisory_lock_shared(4711)",
    "lock table": "LOCK TABLE books IN ACCESS EXCLUSIVE MODE",
    "lock catalogue": "LOCK TABLE pg_catalog.pg_class IN ACCESS EXCLUSIVE MODE",
    "do block": "DO $$ BEGIN PERFORM pg_sleep(60); END $$",
    "do writes": "DO $$ BEGIN DELETE FROM books; END $$",
    "listen": "LISTEN evil",
    "notify": "NOTIFY evil",
    "pg_notify": "SELECT pg_notify('evil', 'x')",
    "set role": "SET ROLE postgres",
    "set": "SET statement_timeout = 0",
    "set_config": "SELECT set_config('statement_timeout', '0', false)",
    "set read write": "SELECT set_config('transaction_read_only', 'off', false)",
    "reset": "RESET ALL",
    "terminate": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity",
    "cancel": "SELECT pg_cancel_backend(pg_backend_pid())",
    "reload": "SELECT pg_reload_conf()",
    "passwords": "SELECT rolpassword FROM pg_authid",
    "shadow": "SELECT passwd FROM pg_catalog.pg_shadow",
    "settings": "SELECT current_setting('data_directory')",
    "catalogue by path": "SELECT relname FROM pg_class",
    "nextval": "SELECT nextval('numbers')",
    "setval": "SELECT setval('numbers', 9999)",
    "query_to_xml": "SELECT query_to_xml('DELETE FROM books', true, true, '')",
    "dblink": "SELECT dblink('dbname=test', 'DELETE FROM books')",
    "txid": "SELECT txid_current()",
    "cte with delete": "WITH x AS (DELETE FROM books RETURNING *) SELECT * FROM x",
    "cte with insert": "WITH x AS (INSERT INTO authors VALUES (998, 'M', NULL) RETURNING *) SELECT * FROM x",
    "select into": "SELECT * INTO evil FROM books",
    "table command": "TABLE books",
    "values": "VALUES (1), (2)",
    "own function": "SELECT evil()",
    "named function": "SELECT public.upper('x')",
    "regclass": "SELECT 'pg_class'::regclass",
    "operator": "SELECT 1 OPERATOR(pg_catalog.+) 1",
    "dollar quotes": "SELECT $$;$$; DELETE FROM books; SELECT $$x$$",
    "unicode escape": "SELECT U&'\\003B' ; DELETE FROM books",
    "backslash": "SELECT '\\'; DELETE FROM books; --'",
    "repeat": "SELECT repeat('x', 1000000000)",
    "repeat length": "SELECT length(repeat('x', 1000000000))",
    "lpad": "SELECT lpad('x', 1000000000)",
    "format width": "SELECT format('%1000000000s', 'x')",
    "string_agg": "SELECT string_agg(a.title, '') FROM books a, books b, books c",
    "array_agg": "SELECT array_agg(a.title) FROM books a, books b, books c",
    "json_agg": "SELECT json_agg(a) FROM books a, books b, books c",
    "array_fill": "SELECT array_fill(1, ARRAY[100000000])",
    "doubling text": (
        "WITH RECURSIVE r(t) AS (SELECT 'ab'::text UNION ALL SELECT t || t FROM r) "
        "SELECT max(length(t)) FROM r"
    ),
    "endless rows": "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT i FROM r",
    "nested doubling": "SELECT length(t) FROM "
    + "(SELECT t || t AS t FROM " * 29
    + "(SELECT title AS t FROM books) a"
    + ") a" * 29,
    "nested sums": "SELECT t FROM "
    + "(SELECT t + t AS t FROM " * 26
    + "(SELECT pages AS t FROM books) a"
    + ") a" * 26,
    "named doubling": "WITH a0 AS (SELECT title AS t FROM books), "
    + ", ".join(f"a{n + 1} AS MATERIALIZED (SELECT t || t AS t FROM a{n})" for n in range(29))
    + " SELECT length(t) FROM a29",
    "growing replace": "SELECT replace('" + "a" * 20_000 + "', 'a', '" + "b" * 20_000 + "')",
    "growing regexp": "SELECT regexp_replace('" + "a" * 20_000 + "', '', '" + "b" * 20_000 + "', 'g')",
    "regexp bomb": "SELECT count(*) FROM books a, books b "
    "WHERE a.title || b.title ~ '(a*)*(.*)*(B+o+)*(.*)*x$'",
    "generate_series": "SELECT count(*) FROM generate_series(1, 100000000000)",
    "unnest": "SELECT count(*) FROM unnest(ARRAY[1, 2]) a, generate_series(1, 1000000000) b",
    "factorial": "SELECT factorial(100000)",
    "numeric power": "SELECT 9.9 ^ 99999.5, 1.0000001 ^ 9999999999.0",
    "cast as wide text": "SELECT count(*) FROM books a, books b, books c "
    "WHERE CAST(a.title AS char(1000000)) < b.title",
}
MARIADB: dict[str, str] = {
    "load_file": "SELECT LOAD_FILE('/etc/passwd')",
    "into outfile": "SELECT * FROM books INTO OUTFILE '{folder}/evil'",
    "into outfile first": "SELECT * INTO OUTFILE '{folder}/evil' FROM books",
    "into dumpfile": "SELECT 'evil' INTO DUMPFILE '{folder}/evil'",
    "into variable": "SELECT title FROM books LIMIT 1 INTO @evil",
    "load data": "LOAD DATA INFILE '/etc/passwd' INTO TABLE authors",
    "load data local": "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE authors",
    "version comment": "SELECT 1 /*! INTO OUTFILE '{folder}/evil' */",
    "numbered comment": "SELECT 1 /*!50000 INTO OUTFILE '{folder}/evil' */",
    "own comment": "SELECT 1 /*M! INTO OUTFILE '{folder}/evil' */",
    "minus minus": "SELECT 1 --1 INTO OUTFILE '{folder}/evil'",
    "sleep": "SELECT SLEEP(60)",
    "sleep in where": "SELECT 1 FROM books WHERE SLEEP(1) = 0",
    "benchmark": "SELECT BENCHMARK(1000000000000, MD5('x'))",
    "get_lock": "SELECT GET_LOCK('evil', 60)",
    "release_all_locks": "SELECT RELEASE_ALL_LOCKS()",
    "lock tables": "LOCK TABLES books WRITE",
    "flush": "FLUSH TABLES WITH READ LOCK",
    "lock in share mode": "SELECT * FROM books LOCK IN SHARE MODE",
    "user variable": "SELECT @evil := 1",
    "read variable": "SELECT @evil",
    "server variable": "SELECT @@datadir",
    "set": "SET max_statement_time = 0",
    "set statement": "SET STATEMENT max_statement_time = 0 FOR SELECT SLEEP(60)",
    "set global": "SET GLOBAL general_log = 1",
    "replace": "REPLACE INTO authors VALUES (1, 'Mallory', NULL)",
    "handler": "HANDLER books OPEN",
    "show": "SHOW TABLES",
    "describe": "DESCRIBE books",
    "use": "USE mysql",
    "kill": "KILL 1",
    "do": "DO SLEEP(60)",
    "block": "BEGIN NOT ATOMIC DELETE FROM books; END",
    "execute immediate": "EXECUTE IMMEDIATE 'DELETE FROM books'",
    "procedure analyse": "SELECT * FROM books PROCEDURE ANALYSE()",
    "passwords": "SELECT authentication_string FROM mysql.user",
    "processes": "SELECT * FROM information_schema.processlist",
    "performance schema": "SELECT * FROM performance_schema.threads",
    "sys": "SELECT * FROM sys.session",
    "current_user": "SELECT CURRENT_USER()",
    "version": "SELECT VERSION()",
    "nextval": "SELECT NEXTVAL(numbers)",
    "next value": "SELECT NEXT VALUE FOR numbers",
    "updatexml": "SELECT UPDATEXML(1, CONCAT(0x7e, (SELECT VERSION())), 1)",
    "uuid": "SELECT UUID()",
    "backslash": "SELECT '\\'; DELETE FROM books; --'",
    "repeat": "SELECT REPEAT('x', 1000000000)",
    "space": "SELECT SPACE(1000000000)",
    "lpad": "SELECT LENGTH(LPAD('x', 1000000000, 'y'))",
    "group_concat": "SELECT GROUP_CONCAT(a.title, b.title) FROM books a, books b, books c",
    "json_arrayagg": "SELECT JSON_ARRAYAGG(a.title) FROM books a, books b, books c",
    "endless rows": "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT i FROM r",
    "endless count": "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT MAX(i) FROM r",
    "doubling text": (
        "WITH RECURSIVE r AS "
        "(SELECT CAST('ab' AS CHAR(60000)) AS t UNION ALL SELECT CONCAT(t, t) FROM r) "
        "SELECT MAX(LENGTH(t)) FROM r"
    ),
    "nested doubling": "SELECT LENGTH(t) FROM "
    + "(SELECT CONCAT(t, t) AS t FROM " * 25
    + "(SELECT title AS t FROM books) a"
    + ") a" * 25,
    "growing replace": "SELECT LENGTH(REPLACE('" + "a" * 20_000 + "', 'a', '" + "b" * 20_000 + "'))",
    "regexp bomb": "SELECT COUNT(*) FROM books a, books b "
    "WHERE CONCAT(a.title, b.title) REGEXP '(a*)*(.*)*(B+o+)*(.*)*x$'",
    "conversion": "SELECT HEX(CONVERT(CONCAT(a.title, b.title) USING utf8mb4)) "
    "FROM books a, books b, books c",
    "sequence table": "SELECT COUNT(*) FROM seq_1_to_100000000000",
}
STATEMENTS = {
    "postgresql": {**BOTH, **POSTGRESQL},
    "mariadb": {**BOTH, **MARIADB},
}
MEMORY = {
    "postgresql": [
        "cross join sort", "cross join distinct", "doubling text", "nested doubling", "nested sums",
        "named doubling", "growing replace", "string_agg", "array_agg", "repeat length", "cast as wide text",
    ],
    "mariadb": [
        "cross join sort", "cross join distinct", "group_concat", "doubling text", "nested doubling",
        "growing replace", "endless rows", "json_arrayagg",
    ],
}  # fmt: skip
MAY_ANSWER = {
    "postgresql": {"deep brackets", "many terms", "numeric power", "backslash", "regexp bomb"},
    "mariadb": {"deep brackets", "many terms", "regexp bomb", "sequence table", "backslash", "endless count"},
}
"""Statements that the engine defuses by itself, or that a quick machine ends in time: what they answer is
small, and true."""

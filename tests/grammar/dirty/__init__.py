"""Tests of databases whose cells do not match their columns: datasets are recomputed in plain Python.

The table has the minimum number of inputs per kind of fault in the ordinary suite; drills use many more.

kind of fault                          by hand  generated  where (below tests/)
the declared type decides                   50         20  databases/profile/test_measure.py,
                                                           test_generated_columns.py,
                                                           grammar/construct/test_column_kinds.py
one value, several renderings               20        304  databases/test_rendering.py,
                                                           test_own_templates_on_dirty_columns.py
omitted data affect answers                 48        115  tanq/test_unread.py,
                                                           sources/wikidata/test_languages.py
a cell silently becomes something else      41        160  sources/wikidata/test_table.py
a part is not read and not reported         18          9  databases/test_left_out.py
one odd cell blocks the whole database      14         12  test_odd_cells.py, test_unreadable_cells.py,
                                                           databases/profile/test_measure.py
look-alikes                                 18          6  test_generated_look_alikes.py,
                                                           databases/profile/test_measure.py
internal tables as data                     20          6  databases/test_left_out.py
a wrong statement about the source          24         50  sources/test_rights.py,
                                                           flows/test_import_wikidata.py
DISTINCT removed by text                    12         60  scoring/test_sql_text.py,
                                                           scoring/test_engine_verdicts.py

A generated input is a column, a part of a database, a database, a dump, a text or a query. Results are
compared with the generator's input or a plain reading of the raw cells, never with Benchloom's SQL.
"""

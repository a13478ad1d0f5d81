"""Databases whose cells are not what their columns say: made into datasets, and recomputed in plain Python.

The least number of inputs of the ordinary suite for each kind of fault; drills draw many more.

kind of fault                          by hand  generated  where (below tests/)
the declared type decides                   50         20  databases/profile/test_measure.py,
                                                           test_generated_columns.py,
                                                           grammar/construct/test_column_kinds.py
one value, several renderings               20        304  databases/test_rendering.py,
                                                           test_own_templates_on_dirty_columns.py
what was left out bears on what is asked    48        115  tanq/test_unread.py,
                                                           sources/wikidata/test_languages.py
a cell silently becomes something else      41        160  sources/wikidata/test_table.py
a part is read and nobody is told           18          9  databases/test_left_out.py
one oddity bars everything                  14         12  test_odd_cells.py, test_unreadable_cells.py,
                                                           databases/profile/test_measure.py
look-alikes                                 18          6  test_generated_look_alikes.py,
                                                           databases/profile/test_measure.py
internal tables as data                     20          6  databases/test_left_out.py
a wrong statement about the source          24         50  sources/test_rights.py,
                                                           flows/test_import_wikidata.py
DISTINCT removed by text                    12         60  scoring/test_sql_text.py,
                                                           scoring/test_engine_verdicts.py

A generated input is a column, a part of a database, a database, a dump, a text or a query. What is generated
is compared with what made it, or with a plain reading of the raw cells, never with SQL of ours.
"""

"""`benchloom add`: entries of params.yaml that are tried once before they are written."""

"""Parse the forms of people's files: fields of records, SQuAD's objects, tables."""

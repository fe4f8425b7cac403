"""The forms that people's files have: fields of records, SQuAD's objects, tables."""

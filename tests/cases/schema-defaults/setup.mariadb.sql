-- A schema's comment.
ALTER DATABASE c_schema_defaults_latin1 COMMENT = 'it''s a \\ schema: é日';

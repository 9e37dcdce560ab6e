-- A schema's encryption default, and READ ONLY, which must come last on restore as nothing can be created in such a schema.
ALTER DATABASE c_schema_defaults_latin1 ENCRYPTION = 'N';

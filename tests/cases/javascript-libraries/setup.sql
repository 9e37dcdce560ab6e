-- MySQL's libraries (9.2 and later): objects of a schema that neither SHOW TABLES nor SHOW FUNCTION STATUS lists, with text in another
-- language between dollar quotes, and a comment; only information_schema.LIBRARIES and SHOW CREATE LIBRARY know them.
-- Without the component that runs JavaScript they can be created, but not used. Guards against: their silent loss.
DROP DATABASE IF EXISTS c_javascript_libraries;
CREATE DATABASE c_javascript_libraries CHARACTER SET utf8mb4;
USE c_javascript_libraries;
CREATE LIBRARY plain LANGUAGE JAVASCRIPT AS 'export function f(n) { return n + 1 }';
CREATE LIBRARY quoted COMMENT 'it''s \\ é日' LANGUAGE JAVASCRIPT AS $js$
  // it's "quoted" `here`; $$ and DELIMITER // and \n
  export function g(s) { return "é日" + s + '\\' }
$js$;
CREATE LIBRARY `odd ``library.name é` LANGUAGE JAVASCRIPT AS '';

"""What a schema holds, asked of nothing but a client: every bit of every value, and the names of all that is not a table."""

TEXT = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob",
        "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection", "vector"}
AS_TEXT = {"json", "uuid", "inet4", "inet6"}


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


def expression(column, kind):
    """What between them shows every bit of a value, and the same on all versions."""
    name = quoted(column)
    if kind in ("float", "double"):
        return f"{name} * 1e0"
    if kind == "bit":
        return f"CAST({name} AS UNSIGNED)"
    if kind == "enum":
        return f"{name} + 0, HEX({name})"
    if kind == "set":
        return f"CAST({name} AS UNSIGNED), HEX({name})"
    if kind in AS_TEXT:
        return f"HEX(CAST({name} AS CHAR))"
    return f"HEX({name})" if kind in TEXT else name


class Schema:
    """Tables with their columns and rows; programs and views by their names."""

    def __init__(self, server, schema):
        self.server, self.schema = server, schema
        of = f"FROM information_schema.{{}} WHERE {{}}_SCHEMA = '{schema}'"
        tables = server.rows(f"SELECT TABLE_NAME, TABLE_TYPE {of.format('TABLES', 'TABLE')}")
        self.tables = {name: {} for name, kind in tables if kind in ("BASE TABLE", "SYSTEM VERSIONED")}
        for table, column, kind in server.rows(
                f"SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE {of.format('COLUMNS', 'TABLE')} ORDER BY TABLE_NAME, ORDINAL_POSITION"):
            if table in self.tables:
                self.tables[table][column] = kind
        self.others = {f"{kind.lower()} {name}" for name, kind in tables if name not in self.tables}
        for what, kind in (("ROUTINE", "ROUTINE_TYPE"), ("TRIGGER", "'TRIGGER'"), ("EVENT", "'EVENT'")):
            listed = server.rows(f"SELECT {kind}, {what}_NAME {of.format(what + 'S', what)}")
            self.others |= {f"{kind.lower()} {name}" for kind, name in listed}

    def lines(self, table, columns, types):
        """The rows, in an order of their own: columns are read by the types that they have at the source."""
        shown = ", ".join(expression(column, types[column]) for column in columns)
        rows = self.server.rows("SET NAMES utf8; SET time_zone = '+00:00'; SET sql_mode = ''; "
                                f"SELECT {shown} FROM {quoted(self.schema)}.{quoted(table)}")
        return sorted("\t".join(row) for row in rows)


def kinds(here, there, column, table):
    """The type by which a column is read on both: one that has become text is read as text."""
    a, b = here.tables[table][column], there.tables[table][column]
    own = next((kind for kind in (a, b) if kind in AS_TEXT), None)
    return own or a


class Difference:
    """What a target lacks of a source, and where its rows are others."""

    def __init__(self, source, target):
        self.missing, self.wrong = sorted(source.others - target.others), []
        for table, columns in source.tables.items():
            if table not in target.tables:
                self.missing.append(f"table {table}")
                continue
            common = [column for column in columns if column in target.tables[table]]
            self.missing += [f"column {table}.{column}" for column in columns if column not in common]
            types = {column: kinds(source, target, column, table) for column in common}
            if source.lines(table, common, types) != target.lines(table, common, types):
                self.wrong.append(table)

    def __bool__(self):
        return bool(self.missing or self.wrong)

/* Loads files of tab-separated lines over MariaDB's bulk protocol: one prepared INSERT, executed with the values of many rows
 * at a time (COM_STMT_BULK_EXECUTE). benchmarks/ways compares it with other ways to load rows. It knows no escapes, so it is
 * for rows that need none.
 *
 *   gcc -O2 -o bulk bulk.c $(mariadb_config --cflags --libs)
 *   bulk SOCKET USER DB.TABLE COLUMNS FILE SETTINGS
 *
 * SETTINGS is a statement that the session begins with. All rows are one transaction; their number goes to stdout. Exit code 2 with a message if anything fails. */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1000, MAX_COLUMNS = 16 };

static void fail(const char *what, const char *why) {
  fprintf(stderr, "error: %s: %s\n", what, why);
  exit(2);
}

int main(int argc, char **argv) {
  int columns = argc == 7 ? atoi(argv[4]) : 0;
  if (columns < 1 || columns > MAX_COLUMNS)
    fail("usage", "bulk SOCKET USER DB.TABLE COLUMNS FILE SETTINGS");
  MYSQL *connection = mysql_init(NULL);
  if (!mysql_real_connect(connection, NULL, argv[2], "", NULL, 0, argv[1], 0))
    fail("connect", mysql_error(connection));
  if (mysql_query(connection, "SET NAMES binary") || mysql_query(connection, argv[6]) ||
      mysql_query(connection, "START TRANSACTION"))
    fail("begin", mysql_error(connection));

  char sql[512];
  int length = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (?", argv[3]);
  for (int i = 1; i < columns && length + 4 < (int)sizeof sql; i++)
    length += snprintf(sql + length, sizeof sql - length, ",?");
  snprintf(sql + length, sizeof sql - length, ")");
  MYSQL_STMT *statement = mysql_stmt_init(connection);
  if (mysql_stmt_prepare(statement, sql, -1))
    fail(sql, mysql_stmt_error(statement));

  static char *lines[BATCH];
  static size_t sizes[BATCH];
  static char *values[MAX_COLUMNS][BATCH];
  static unsigned long lengths[MAX_COLUMNS][BATCH];
  MYSQL_BIND bind[MAX_COLUMNS];
  memset(bind, 0, sizeof bind);
  for (int c = 0; c < columns; c++) {
    bind[c].buffer_type = MYSQL_TYPE_STRING;
    bind[c].buffer = values[c];
    bind[c].length = lengths[c];
  }
  FILE *file = fopen(argv[5], "r");
  if (!file)
    fail(argv[5], "cannot be opened");
  unsigned long long total = 0;
  for (int more = 1; more;) {
    unsigned int rows = 0;
    while (rows < BATCH) {
      ssize_t size = getline(&lines[rows], &sizes[rows], file);
      if (size < 0) {
        more = 0;
        break;
      }
      char *field = lines[rows], *end = lines[rows] + size - 1; /* without the newline */
      for (int c = 0; c < columns; c++) {
        char *tab = c + 1 < columns ? memchr(field, '\t', end - field) : end;
        if (!tab)
          fail(argv[5], "a line has too few fields");
        values[c][rows] = field;
        lengths[c][rows] = tab - field;
        field = tab + 1;
      }
      rows++;
    }
    if (rows && (mysql_stmt_attr_set(statement, STMT_ATTR_ARRAY_SIZE, &rows) || mysql_stmt_bind_param(statement, bind) ||
                 mysql_stmt_execute(statement)))
      fail("execute", mysql_stmt_error(statement));
    total += rows;
  }
  if (ferror(file) || mysql_query(connection, "COMMIT"))
    fail("commit", mysql_error(connection));
  printf("%llu\n", total);
  return 0;
}

/* The floor of a dump: N connections over the unix socket read whole tables and throw the rows away. A dump cannot be
 * faster than this, so benchmarks/dump gives every time as a ratio to it.
 *
 * Each thread takes the next table that nobody has taken, reads it with mysql_use_result and mysql_fetch_row to its end, and
 * looks at no value. The rows come as drover reads them: SET NAMES binary, so that the server converts nothing.
 *
 *   gcc -O2 -o floor floor.c $(mariadb_config --cflags --libs) -lpthread
 *   floor SOCKET USER THREADS DB.TABLE...
 *
 * The number of rows goes to stdout. Exit code 2 with a message if any table could not be read to its end. */
#include <mysql.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static const char *sock, *user;
static char **tables;
static int table_count;
static atomic_int next_table;
static atomic_ullong rows;

static void fail(const char *what, MYSQL *connection) {
  fprintf(stderr, "error: %s: %s\n", what, mysql_error(connection));
  exit(2);
}

static MYSQL *open_connection(void) {
  MYSQL *connection = mysql_init(NULL);
  if (!mysql_real_connect(connection, NULL, user, "", NULL, 0, sock, 0))
    fail("connect", connection);
  if (mysql_query(connection, "SET NAMES binary"))
    fail("SET NAMES binary", connection);
  return connection;
}

static void read_table(MYSQL *connection, const char *name) {
  char query[256];
  int length = snprintf(query, sizeof query, "SELECT * FROM %s", name);
  if (length >= (int)sizeof query || mysql_query(connection, query))
    fail(name, connection);
  MYSQL_RES *result = mysql_use_result(connection);
  if (!result)
    fail(name, connection);
  unsigned long long count = 0;
  while (mysql_fetch_row(result))
    count++;
  if (mysql_errno(connection)) /* a NULL row is the end only when no error stands behind it */
    fail(name, connection);
  mysql_free_result(result);
  rows += count;
}

static void *read_tables(void *unused) {
  (void)unused;
  mysql_thread_init();
  MYSQL *connection = open_connection();
  for (int i; (i = next_table++) < table_count;)
    read_table(connection, tables[i]);
  mysql_close(connection);
  mysql_thread_end();
  return NULL;
}

int main(int argc, char **argv) {
  int threads = argc > 4 ? atoi(argv[3]) : 0;
  if (threads < 1 || threads > 256) {
    fprintf(stderr, "usage: floor SOCKET USER THREADS DB.TABLE...\n");
    return 2;
  }
  sock = argv[1];
  user = argv[2];
  tables = argv + 4;
  table_count = argc - 4;
  mysql_library_init(0, NULL, NULL);

  pthread_t running[256];
  for (int i = 0; i < threads; i++) {
    if (pthread_create(&running[i], NULL, read_tables, NULL)) {
      fprintf(stderr, "error: cannot start thread %d\n", i);
      return 2;
    }
  }
  for (int i = 0; i < threads; i++)
    pthread_join(running[i], NULL);
  printf("%llu\n", rows);
  return 0;
}

/* See tune_db.h.  Robust rather than fast: write-ahead log where the file system has it, a busy
 * time-out for other processes, and every failure is a note, never an error of the caller.  JSON is
 * made and read by SQLite's own functions. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_OFD_SETLK */
#endif
#include "jit/tune_db.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tilec/runtime.h"

enum { BUSY_MS = 2000 };

static const char schema[] =
   "CREATE TABLE IF NOT EXISTS choices (device TEXT NOT NULL, kernel TEXT NOT NULL,"
   " hash TEXT NOT NULL, key TEXT NOT NULL, config TEXT NOT NULL, median_ms REAL NOT NULL,"
   " candidates INTEGER NOT NULL, made INTEGER NOT NULL,"
   " PRIMARY KEY (device, kernel, hash, key)) WITHOUT ROWID";

static void
say(char *note, size_t bytes, const char *path, const char *why)
{
   if (note && bytes)
      snprintf(note, bytes, "tuning database '%.120s': %.110s", path, why);
}

/* The name that opens a database in a folder that cannot be written, where a log cannot be made. */
static char *
immutable_name(const char *path)
{
   char *name = sqlite3_mprintf("file:");
   for (const char *p = path; name && *p; p++) {
      bool plain = *p != '%' && *p != '?' && *p != '#';
      char *longer = plain ? sqlite3_mprintf("%s%c", name, *p)
                           : sqlite3_mprintf("%s%%%02x", name, (unsigned)(unsigned char)*p);
      sqlite3_free(name);
      name = longer;
   }
   char *whole = name ? sqlite3_mprintf("%s?immutable=1", name) : NULL;
   sqlite3_free(name);
   return whole;
}

static int
open_for_reading(const char *path, sqlite3 **db)
{
   int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READONLY;
   int rc = sqlite3_open_v2(path, db, flags, NULL);
   if (rc == SQLITE_OK)
      rc = sqlite3_busy_timeout(*db, BUSY_MS);
   if (rc == SQLITE_OK)
      rc = sqlite3_exec(*db, "PRAGMA schema_version", NULL, NULL, NULL);
   if ((rc & 0xff) != SQLITE_CANTOPEN && (rc & 0xff) != SQLITE_READONLY)
      return rc;
   char *name = immutable_name(path);
   sqlite3_close(*db);
   *db = NULL;
   rc = name ? sqlite3_open_v2(name, db, flags | SQLITE_OPEN_URI, NULL) : SQLITE_NOMEM;
   sqlite3_free(name);
   return rc;
}

/* NULL with a note.  A database that does not exist is made only for writing. */
static sqlite3 *
open_db(const char *path, bool for_writing, char *note, size_t bytes)
{
   sqlite3 *db = NULL;
   int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
   int rc = for_writing ? sqlite3_open_v2(path, &db, flags, NULL) : open_for_reading(path, &db);
   if (rc == SQLITE_OK)
      rc = sqlite3_busy_timeout(db, BUSY_MS);
   if (rc == SQLITE_OK && for_writing) {
      /* Without shared memory (some network file systems) this keeps the rollback journal. */
      (void)sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", NULL, NULL,
                         NULL);
      rc = sqlite3_exec(db, schema, NULL, NULL, NULL);
   }
   if (rc == SQLITE_OK)
      return db;
   bool is_absent = (rc & 0xff) == SQLITE_CANTOPEN && !for_writing && access(path, F_OK) != 0;
   say(note, bytes, path,
       is_absent ? "there is no such file"
       : db      ? sqlite3_errmsg(db)
                 : sqlite3_errstr(rc));
   sqlite3_close(db);
   return NULL;
}

/* ---- Taking turns ---------------------------------------------------------------------------- */

/* A byte of the lock file for each choice; two that share one only wait in vain. */
static int64_t
lock_byte(const TlTuneId *id)
{
   const char *text[4] = {id->device, id->kernel, id->hash, id->key};
   uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
   for (int i = 0; i < 4; i++)
      for (const char *p = text[i]; *p; p++)
         h = (h ^ (unsigned char)*p) * 0x100000001b3u;
   return (int64_t)(h >> 2);
}

int
tl_tune_db_lock(const char *path, const TlTuneId *id, uint32_t timeout_ms)
{
   enum { STEP_MS = 10 };
   char *name = sqlite3_mprintf("%s-turn", path);
   int fd = name ? open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
   sqlite3_free(name);
   /* of the open file, not of the process: threads wait for each other too */
   struct flock lock = {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = lock_byte(id), .l_len = 1};
   for (uint32_t waited = 0; fd >= 0; waited += STEP_MS) {
      if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
         return fd;
      if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || waited >= timeout_ms)
         break;
      nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
   }
   if (fd >= 0)
      close(fd);
   return -1;
}

void
tl_tune_db_unlock(int lock)
{
   if (lock < 0)
      return;
   struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
   (void)fcntl(lock, F_OFD_SETLK, &all); /* a forked child may hold the same file open */
   close(lock);
}

/* ---- Reading and writing --------------------------------------------------------------------- */

static bool
is_absent(const char *path)
{
   FILE *f = fopen(path, "rb");
   if (f)
      fclose(f);
   return !f;
}

static sqlite3_stmt *
prepare(sqlite3 *db, const char *sql, const TlTuneId *id)
{
   sqlite3_stmt *s = NULL;
   if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
      return NULL;
   const char *text[4] = {id->device, id->kernel, id->hash, id->key};
   for (int i = 0; i < 4; i++)
      if (sqlite3_bind_text(s, i + 1, text[i], -1, SQLITE_STATIC) != SQLITE_OK) {
         sqlite3_finalize(s);
         return NULL;
      }
   return s;
}

bool
tl_tune_db_get(const char *path, const TlTuneId *id, char *config, char *note)
{
   note[0] = 0;
   if (is_absent(path))
      return false;
   sqlite3 *db = open_db(path, false, note, TL_TUNE_NOTE_BYTES);
   if (!db)
      return false;
   sqlite3_stmt *s = prepare(db,
                             "SELECT config FROM choices"
                             " WHERE device = ?1 AND kernel = ?2 AND hash = ?3 AND key = ?4",
                             id);
   int rc = s ? sqlite3_step(s) : SQLITE_ERROR;
   const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
   bool found = text && strlen(text) < TL_TUNE_CONFIG_BYTES;
   if (found)
      memcpy(config, text, strlen(text) + 1);
   else if (rc != SQLITE_DONE && rc != SQLITE_ROW)
      say(note, TL_TUNE_NOTE_BYTES, path, sqlite3_errmsg(db));
   sqlite3_finalize(s);
   sqlite3_close(db);
   return found;
}

bool
tl_tune_db_put(const char *path, const TlTuneId *id, const char *config, double median_ms,
               uint32_t candidates, char *note)
{
   note[0] = 0;
   sqlite3 *db = open_db(path, true, note, TL_TUNE_NOTE_BYTES);
   if (!db)
      return false;
   sqlite3_stmt *s =
      prepare(db, "INSERT OR REPLACE INTO choices VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", id);
   bool ok = s && sqlite3_bind_text(s, 5, config, -1, SQLITE_STATIC) == SQLITE_OK &&
             sqlite3_bind_double(s, 6, median_ms) == SQLITE_OK &&
             sqlite3_bind_int64(s, 7, candidates) == SQLITE_OK &&
             sqlite3_bind_int64(s, 8, (sqlite3_int64)time(NULL)) == SQLITE_OK &&
             sqlite3_step(s) == SQLITE_DONE;
   if (!ok)
      say(note, TL_TUNE_NOTE_BYTES, path, sqlite3_errmsg(db));
   sqlite3_finalize(s);
   sqlite3_close(db);
   return ok;
}

/* ---- export and import ---- */
TilecStatus
tilec_tune_export(const char *database, bool (*put)(void *user, const char *text, size_t len),
                  void *user, char *error, size_t error_bytes)
{
   if (error && error_bytes)
      error[0] = 0;
   if (!database || !put) {
      if (error && error_bytes)
         snprintf(error, error_bytes, "tilec_tune_export: %s is NULL",
                  database ? "put" : "database");
      return TILEC_BAD_ARGUMENT;
   }
   sqlite3 *db = open_db(database, false, error, error_bytes);
   if (!db)
      return TILEC_IO;
   static const char sql[] =
      "SELECT json_object('device', device, 'kernel', kernel, 'hash', hash, 'key', key,"
      " 'config', config, 'median_ms', median_ms, 'candidates', candidates, 'made', made)"
      " FROM choices ORDER BY device, kernel, hash, key";
   sqlite3_stmt *s = NULL;
   int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
   bool ok = rc == SQLITE_OK && put(user, "[", 1), first = true;
   while (ok && (rc = sqlite3_step(s)) == SQLITE_ROW) {
      const char *row = (const char *)sqlite3_column_text(s, 0);
      ok = row && put(user, first ? "\n" : ",\n", first ? 1 : 2) && put(user, row, strlen(row));
      first = false;
   }
   if (rc != SQLITE_DONE)
      say(error, error_bytes, database, sqlite3_errmsg(db));
   ok = ok && rc == SQLITE_DONE && put(user, "\n]\n", 3);
   sqlite3_finalize(s);
   sqlite3_close(db);
   return ok ? TILEC_OK : TILEC_IO;
}

/* One number that SQL gives for the JSON text; -1 on failure. */
static sqlite3_int64
ask(sqlite3 *db, const char *sql, const char *json, size_t len)
{
   sqlite3_stmt *s = NULL;
   sqlite3_int64 n = -1;
   if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK &&
       sqlite3_bind_text64(s, 1, json, len, SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK &&
       sqlite3_step(s) == SQLITE_ROW)
      n = sqlite3_column_int64(s, 0);
   sqlite3_finalize(s);
   return n;
}

/* The line at whose end a text breaks off, within brackets or a string; 0: it does not. */
static unsigned
cut_at_line(const char *json, size_t len)
{
   unsigned line = 1, last = 1, open = 0;
   bool in_string = false;
   for (size_t i = 0; i < len; i++) {
      char c = json[i];
      if (c == '\n')
         line++;
      else if (!isspace((unsigned char)c))
         last = line;
      if (c == '"')
         in_string = !in_string;
      else if (in_string)
         i += c == '\\';
      else if (c == '[' || c == '{')
         open++;
      else if ((c == ']' || c == '}') && open)
         open--;
   }
   return open || in_string ? last : 0;
}

/* What is wrong with a text that is no array of choices; an exported one has a choice a line. */
static void
say_bad_text(sqlite3 *db, const char *json, size_t len, char *error, size_t error_bytes)
{
   static const char is_object[] = "SELECT json_valid(?1) AND json_type(?1) = 'object'";
   if (!error || !error_bytes)
      return;
   unsigned cut = cut_at_line(json, len);
   size_t first = 0;
   while (first < len && isspace((unsigned char)json[first]))
      first++;
   if (cut && (json[first] == '[' || json[first] == '{')) {
      snprintf(error, error_bytes,
               "the JSON ends too early, in line %u, with brackets open: the file is cut off; "
               "export the choices anew (tilec tune --export=FILE)",
               cut);
      return;
   }
   unsigned line = 0, last = 0;
   for (const char *p = json, *end = json + len; p < end;) {
      const char *next = memchr(p, '\n', (size_t)(end - p));
      size_t n = (size_t)((next ? next : end) - p);
      line++;
      while (n && isspace((unsigned char)p[n - 1]))
         n--;
      bool has_comma = n && p[n - 1] == ',';
      if (n && *p == '{' && ask(db, is_object, p, n - has_comma) != 1) {
         snprintf(error, error_bytes, "line %u is no choice as they are exported, in JSON", line);
         return;
      }
      last = n && *p == '{' ? (has_comma ? line : 0) : last;
      p = next ? next + 1 : end;
   }
   if (last)
      snprintf(error, error_bytes,
               "line %u, the last choice, ends with a comma: JSON has none there", last);
   else
      snprintf(error, error_bytes, "the text is not a JSON array of exported choices");
}

TilecStatus
tilec_tune_import(const char *database, const char *json, size_t len, uint32_t *count, char *error,
                  size_t error_bytes)
{
   if (count)
      *count = 0;
   if (error && error_bytes)
      error[0] = 0;
   if (!database || !json) {
      if (error && error_bytes)
         snprintf(error, error_bytes, "tilec_tune_import: %s is NULL",
                  database ? "json" : "database");
      return TILEC_BAD_ARGUMENT;
   }
   if (len == TILEC_STRLEN)
      len = strlen(json);
   sqlite3 *db = open_db(database, true, error, error_bytes);
   if (!db)
      return TILEC_IO;
   static const char well_formed[] = "SELECT json_valid(?1) AND json_type(?1) = 'array'";
   static const char wrong_rows[] =
      "SELECT count(*) FROM json_each(?1) WHERE type <> 'object'"
      " OR json_type(value, '$.device') IS NOT 'text' OR json_type(value, '$.kernel') IS NOT 'text'"
      " OR json_type(value, '$.hash') IS NOT 'text' OR json_type(value, '$.key') IS NOT 'text'"
      " OR json_type(value, '$.config') IS NOT 'text'"
      " OR abs(ifnull(json_extract(value, '$.median_ms'), 0)) > 1.7976931348623157e308";
   static const char insert[] =
      "INSERT OR REPLACE INTO choices SELECT json_extract(value, '$.device'),"
      " json_extract(value, '$.kernel'), json_extract(value, '$.hash'),"
      " json_extract(value, '$.key'), json_extract(value, '$.config'),"
      " CAST(ifnull(json_extract(value, '$.median_ms'), 0) AS REAL),"
      " CAST(ifnull(json_extract(value, '$.candidates'), 0) AS INTEGER),"
      " CAST(ifnull(json_extract(value, '$.made'), 0) AS INTEGER) FROM json_each(?1)";
   TilecStatus status = TILEC_OK;
   if (ask(db, well_formed, json, len) != 1 || ask(db, wrong_rows, json, len) != 0) {
      say_bad_text(db, json, len, error, error_bytes);
      status = TILEC_BAD_IMAGE;
   } else {
      sqlite3_stmt *s = NULL;
      bool ok = sqlite3_prepare_v2(db, insert, -1, &s, NULL) == SQLITE_OK &&
                sqlite3_bind_text64(s, 1, json, len, SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK &&
                sqlite3_step(s) == SQLITE_DONE;
      if (!ok) {
         say(error, error_bytes, database, sqlite3_errmsg(db));
         status = TILEC_IO;
      } else if (count) {
         *count = (uint32_t)sqlite3_changes(db);
      }
      sqlite3_finalize(s);
   }
   sqlite3_close(db);
   return status;
}

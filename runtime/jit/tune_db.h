/* The tuner's choices on disk: one SQLite file, shared by processes.  A connection is opened for
 * each call and closed again, so that nothing of it lives through a fork. */
#ifndef TL_RT_TUNE_DB_H
#define TL_RT_TUNE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TL_TUNE_CONFIG_BYTES = 4096, TL_TUNE_NOTE_BYTES = 256 };

/* What a choice depends on. */
typedef struct TlTuneId {
   const char *device; /* "NVIDIA H200, sm_90a, 132 SMs" */
   const char *kernel; /* its name */
   const char *hash;   /* of source and options */
   const char *key;    /* "n=1000; x=*fp16" */
} TlTuneId;

/* Keeps other processes, and other runtimes of this one, from measuring the same choice: waits for
 * up to timeout_ms while one of them does, after which the choice may be stored.  A holder that
 * ends lets go.  Negative: not to be had, which changes nothing but the work done twice. */
int tl_tune_db_lock(const char *path, const TlTuneId *id, uint32_t timeout_ms);
void tl_tune_db_unlock(int lock);

/* The stored configuration's text into config[TL_TUNE_CONFIG_BYTES].  false when there is none, or
 * the database cannot be used: then note[TL_TUNE_NOTE_BYTES] says why, else it is "". */
bool tl_tune_db_get(const char *path, const TlTuneId *id, char *config, char *note);
/* Stores or replaces; false with a note. */
bool tl_tune_db_put(const char *path, const TlTuneId *id, const char *config, double median_ms,
                    uint32_t candidates, char *note);

#endif

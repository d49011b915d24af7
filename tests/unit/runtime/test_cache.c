/* The disk cache: what is damaged, foreign, stale or in the way is a miss, never a wrong kernel and
 * never a failed call; and what is kept comes back whole. */
#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "jit/cache.h"
#include "mock_compiler.h"

static const TilecParamDecl params[] = {{.name = "x"}, {.name = "n"}};
static const TilecKernelDecl decls[] = {
   {.name = "k", .file = "x.tile", .params = params, .num_params = 2}};

static char folder[64]; /* of one test */
static char dir[128];   /* the cache's, inside it */
static TilecRuntime *rt;
static TilecModule *module;
static TilecKernel *kernel;
static char said[4096]; /* through on_text */
static TilecJitOptions jit_options;

static void
remove_tree(const char *path)
{
   char inner[512];
   DIR *list = opendir(path);
   for (struct dirent *d; list && (d = readdir(list));) {
      if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
         continue;
      snprintf(inner, sizeof inner, "%s/%s", path, d->d_name);
      if (unlink(inner) != 0)
         remove_tree(inner);
   }
   if (list)
      closedir(list);
   rmdir(path);
}

static int
make_folder(void **state)
{
   (void)state;
   snprintf(folder, sizeof folder, "/tmp/tilec-cache-XXXXXX");
   assert_non_null(mkdtemp(folder));
   snprintf(dir, sizeof dir, "%s/deep/cache", folder);
   memset(&mock, 0, sizeof mock);
   mock.decls = decls;
   mock.num_decls = 1;
   said[0] = 0;
   jit_options = (TilecJitOptions){.struct_size = sizeof jit_options, .cache_dir = dir};
   return 0;
}

static int
remove_folder(void **state)
{
   (void)state;
   remove_tree(folder);
   return 0;
}

static void
hear(void *user, const char *text)
{
   (void)user;
   strncat(said, text, sizeof said - strlen(said) - 1);
}

static void
start(void)
{
   fake_clear();
   jit_options.on_text = hear;
   TilecRuntimeOptions o = {.struct_size = sizeof o, .driver_path = FAKE_DRIVER};
   assert_int_equal(tilec_runtime_open(&o, &rt), TILEC_OK);
   assert_int_equal(tilec_jit_attach(rt, &jit_options), TILEC_OK);
   TilecSource s = {.struct_size = sizeof s, .file = "x.tile"};
   assert_int_equal(tilec_module_from_source(rt, &s, &module), TILEC_OK);
   assert_int_equal(tilec_module_kernel(module, NULL, &kernel), TILEC_OK);
}

static void
stop(void)
{
   tilec_module_free(module);
   close_fake(rt);
   assert_int_equal(mock.alive, 0);
}

/* A process of its own, as far as the cache can tell: launches once, says how often it compiled. */
static int
compiles_of_a_grid(uint32_t grid, int n)
{
   mock.compiles = 0;
   start();
   if (TILEC_LAUNCH(kernel, 0, grid, 1, 1, (float *)0x1000, n) != TILEC_OK)
      fail_msg("%s", detail(rt));
   assert_int_equal(fake()->num_launches, 1);
   stop();
   return mock.compiles;
}

static int
compiles_of_a_run(int n)
{
   return compiles_of_a_grid(1, n);
}

static void
the_second_run_compiles_nothing(void **state)
{
   (void)state;
   struct stat st;
   mock.warning = "x.tile:3:1: warning[W0101]: odd\n";
   assert_int_equal(compiles_of_a_run(7), 1);
   assert_string_equal(said, mock.warning);
   assert_int_equal(compiles_of_a_run(7), 0);
   assert_int_equal(strlen(said), 2 * strlen(mock.warning)); /* said again */
   assert_int_equal(compiles_of_a_run(16), 1);               /* other facts */
   assert_int_equal(stat(dir, &st), 0);
   assert_int_equal(st.st_mode & 0777, 0700);
   mock.build = "mock 2";
   assert_int_equal(compiles_of_a_run(7), 1);
   mock.build = "";
   assert_int_equal(compiles_of_a_run(7), 1); /* cannot be told apart: nothing is kept */
   assert_int_equal(compiles_of_a_run(7), 1);
}

/* Launches of few programs and others share what is the same code, and what may be compiled is what
 * may be made beside it. */
static void
few_programs_are_kept_beside_others(void **state)
{
   (void)state;
   assert_int_equal(compiles_of_a_grid(1, 7), 1);
   assert_int_equal(compiles_of_a_grid(1000, 7), 0);
   assert_int_equal(compiles_of_a_grid(1000, 16), 1);
   assert_int_equal(compiles_of_a_grid(1, 16), 0);
   mock.few_per_sm = 2;
   assert_int_equal(compiles_of_a_grid(1, 1), 1);
   jit_options.never_compile = true;
   assert_int_equal(compiles_of_a_grid(1000, 1), 0);
   jit_options.never_compile = false;
   assert_int_equal(compiles_of_a_grid(1000, 1), 1);
   assert_int_equal(compiles_of_a_grid(1000, 1), 0);
   assert_int_equal(compiles_of_a_grid(1, 1), 0);
}

static void
imports_are_looked_at(void **state)
{
   (void)state;
   char lib[128], other[128];
   snprintf(lib, sizeof lib, "%s/lib.tile", folder);
   snprintf(other, sizeof other, "%s/other.tile", folder);
   const TilecImport imports[] = {{other, NULL, 0}, {lib, "one", 3}};
   mock.imports = imports;
   mock.num_imports = 2;
   FILE *f = fopen(lib, "w");
   assert_true(f && fputs("one", f) >= 0 && fclose(f) == 0);
   assert_int_equal(compiles_of_a_run(7), 1);
   assert_int_equal(compiles_of_a_run(7), 0);
   f = fopen(lib, "w");
   assert_true(f && fputs("two", f) >= 0 && fclose(f) == 0);
   assert_int_equal(compiles_of_a_run(7), 1);
   f = fopen(lib, "w");
   assert_true(f && fputs("one", f) >= 0 && fclose(f) == 0);
   assert_int_equal(compiles_of_a_run(7), 0); /* as it was when compiled */
   f = fopen(other, "w");                     /* where the import is looked for first */
   assert_true(f && fclose(f) == 0);
   assert_int_equal(compiles_of_a_run(7), 1);
   unlink(other);
   unlink(lib);
   assert_int_equal(compiles_of_a_run(7), 1);
}

/* ---- One entry, byte by byte ----------------------------------------------------------------- */

static const uint8_t some_key[TL_CACHE_KEY_BYTES] = {1, 2, 3};
static const TlCachePart some_parts[TL_CACHE_PARTS] = {
   {"ptx text", 8}, {"{}", 2}, {"", 0}, {"warning", 7}, {"import", 6}};

static TlCache
cache_in(const char *path)
{
   return (TlCache){.dir = path, .max_bytes = (uint64_t)1 << 20};
}

static void
entry_path(char *path, size_t bytes)
{
   size_t n = (size_t)snprintf(path, bytes, "%s/", dir);
   for (int i = 0; i < TL_CACHE_KEY_BYTES; i++)
      n += (size_t)snprintf(path + n, bytes - n, "%02x", some_key[i]);
   snprintf(path + n, bytes - n, ".tilec");
}

static bool
hits(TlCache *c)
{
   TlCacheEntry e;
   bool hit = tl_cache_get(c, some_key, &e);
   for (int i = 0; hit && i < TL_CACHE_PARTS; i++) {
      assert_int_equal(e.part[i].len, some_parts[i].len);
      assert_memory_equal(e.part[i].data, some_parts[i].data, e.part[i].len);
   }
   tl_cache_entry_free(&e);
   return hit;
}

static size_t
file_size(const char *path)
{
   struct stat st;
   assert_int_equal(stat(path, &st), 0);
   assert_int_equal(st.st_mode & 0777, 0600);
   return (size_t)st.st_size;
}

static void
a_changed_byte_anywhere_is_a_miss(void **state)
{
   (void)state;
   TlCache c = cache_in(dir);
   char path[512], why[TL_CACHE_WHY];
   unsigned char byte;
   entry_path(path, sizeof path);
   assert_false(hits(&c));
   assert_true(tl_cache_put(&c, some_key, some_parts, why));
   assert_true(hits(&c));
   size_t size = file_size(path);
   int fd = open(path, O_RDWR);
   for (size_t at = 0; at < size; at++)
      for (int bit = 0; bit < 8; bit += 7) {
         assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
         byte ^= (unsigned char)(1 << bit);
         assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
         if (hits(&c))
            fail_msg("byte %zu of %zu, bit %d", at, size, bit);
         byte ^= (unsigned char)(1 << bit);
         assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
      }
   assert_true(hits(&c));
   assert_int_equal(ftruncate(fd, (off_t)size + 1), 0); /* one more */
   assert_false(hits(&c));
   for (size_t cut = size; cut-- > 0;) {
      assert_int_equal(ftruncate(fd, (off_t)cut), 0);
      assert_false(hits(&c));
   }
   close(fd);
   assert_true(tl_cache_put(&c, some_key, some_parts, why)); /* replaced */
   assert_true(hits(&c));
   uint8_t other[TL_CACHE_KEY_BYTES] = {9};
   char from[512];
   TlCacheEntry e;
   snprintf(from, sizeof from, "%s", path);
   path[strlen(dir) + 2] = '9', path[strlen(dir) + 1] = '0', path[strlen(dir) + 4] = '0';
   path[strlen(dir) + 6] = '0';
   assert_int_equal(rename(from, path), 0); /* under another key's name */
   assert_false(tl_cache_get(&c, other, &e));
}

/* ---- Folders in the way ---------------------------------------------------------------------- */

static void
unsafe_folders_are_not_used(void **state)
{
   (void)state;
   char link[512], why[TL_CACHE_WHY];
   TlCache c = cache_in(dir);
   assert_true(tl_cache_put(&c, some_key, some_parts, why));
   assert_int_equal(chmod(dir, 0777), 0);
   assert_false(hits(&c));
   assert_false(tl_cache_put(&c, some_key, some_parts, why));
   assert_non_null(strstr(why, "others may write"));
   assert_int_equal(chmod(dir, 0720), 0);
   assert_false(hits(&c));
   assert_int_equal(chmod(dir, 0755), 0);
   assert_true(hits(&c));
   snprintf(link, sizeof link, "%s/link", folder);
   assert_int_equal(symlink(dir, link), 0);
   TlCache through = cache_in(link);
   assert_false(hits(&through));
   assert_false(tl_cache_put(&through, some_key, some_parts, why));
   assert_non_null(strstr(why, "it is a link"));
   strcat(link, "//"); /* which the system would follow */
   through = cache_in(link);
   assert_false(tl_cache_put(&through, some_key, some_parts, why));
   assert_non_null(strstr(why, "it is a link"));
   if (geteuid() == 0) { /* only root can give a folder away */
      assert_int_equal(chown(dir, 12345, (gid_t)-1), 0);
      assert_false(hits(&c));
      assert_false(tl_cache_put(&c, some_key, some_parts, why));
      assert_non_null(strstr(why, "another user"));
      assert_int_equal(chown(dir, geteuid(), (gid_t)-1), 0);
   }
}

static void
layers_are_read_and_not_written(void **state)
{
   (void)state;
   char upper[128];
   assert_int_equal(compiles_of_a_run(7), 1);
   snprintf(upper, sizeof upper, "%s/upper", folder);
   const char *const layers[] = {"/nowhere", dir};
   jit_options.cache_dir = upper;
   jit_options.cache_layers = layers;
   jit_options.num_cache_layers = 2;
   assert_int_equal(compiles_of_a_run(7), 0);
   assert_int_equal(access(upper, F_OK), -1);
   assert_int_equal(compiles_of_a_run(16), 1);
   TlCacheStats stats;
   char why[TL_CACHE_WHY];
   assert_true(tl_cache_visit(upper, TL_CACHE_COUNT, &stats, why));
   assert_int_equal(stats.entries, 1);
   jit_options.cache_dir = NULL; /* layers alone */
   assert_int_equal(compiles_of_a_run(7), 0);
   assert_int_equal(compiles_of_a_run(16), 1);
}

static void
trouble_with_the_disk_costs_no_kernel(void **state)
{
   (void)state;
   char under_a_file[160];
   snprintf(under_a_file, sizeof under_a_file, "%s/file", folder);
   FILE *f = fopen(under_a_file, "w");
   assert_true(f && fclose(f) == 0);
   strcat(under_a_file, "/cache");
   jit_options.cache_dir = under_a_file;
   assert_int_equal(compiles_of_a_run(7), 1);
   assert_non_null(strstr(said, "note: kernels are not kept for the next run"));
   jit_options.cache_dir = "/proc/tilec-cannot-be-made";
   assert_int_equal(compiles_of_a_run(7), 1);
   jit_options.cache_dir = "";
   said[0] = 0;
   assert_int_equal(compiles_of_a_run(7), 1);
   assert_non_null(strstr(said, "its name is empty"));
   jit_options.cache_dir = dir;

   struct rlimit before, small = {100, 100}; /* a full disk, as far as one process can have one */
   assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
   signal(SIGXFSZ, SIG_IGN);
   small.rlim_max = before.rlim_max;
   assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
   said[0] = 0;
   int compiles = compiles_of_a_run(7);
   assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
   assert_int_equal(compiles, 1);
   assert_non_null(strstr(said, "File too large"));

   struct rlimit files;
   assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
   start();
   int next = dup(0);
   small = (struct rlimit){(rlim_t)next, files.rlim_max}; /* no file can be opened */
   assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
   close(next);
   small.rlim_cur = (rlim_t)next;
   TilecStatus status = TILEC_LAUNCH(kernel, 0, 1, 1, 1, (float *)0x1000, 7);
   assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
   assert_int_equal(status, TILEC_OK);
   assert_int_equal(mock.compiles, 2);
   stop();
   TlCacheStats stats;
   char why[TL_CACHE_WHY];
   assert_true(tl_cache_visit(dir, TL_CACHE_COUNT, &stats, why));
   assert_int_equal(stats.entries + stats.temporary, 0); /* nothing half made is left */
   assert_int_equal(compiles_of_a_run(7), 1);
   assert_int_equal(compiles_of_a_run(7), 0);
}

/* ---- Size ------------------------------------------------------------------------------------ */

static void
set_use(int number, int64_t when)
{
   char path[512];
   uint8_t key[TL_CACHE_KEY_BYTES] = {(uint8_t)number};
   size_t n = (size_t)snprintf(path, sizeof path, "%s/", dir);
   for (int i = 0; i < TL_CACHE_KEY_BYTES; i++)
      n += (size_t)snprintf(path + n, sizeof path - n, "%02x", key[i]);
   snprintf(path + n, sizeof path - n, ".tilec");
   struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
   assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void
the_least_recently_used_go_first(void **state)
{
   (void)state;
   static char big[10000];
   char why[TL_CACHE_WHY] = "", path[512];
   TlCachePart parts[TL_CACHE_PARTS] = {{big, sizeof big}};
   TlCache c = {.dir = dir, .max_bytes = (uint64_t)1 << 30};
   int64_t now = (int64_t)time(NULL);
   for (int i = 0; i < 10; i++) {
      uint8_t key[TL_CACHE_KEY_BYTES] = {(uint8_t)i};
      assert_true(tl_cache_put(&c, key, parts, why));
      set_use(i, now - 100000 + i);
   }
   TlCacheEntry e;
   uint8_t oldest[TL_CACHE_KEY_BYTES] = {0};
   assert_true(tl_cache_get(&c, oldest, &e)); /* a use: now it is the newest */
   tl_cache_entry_free(&e);
   snprintf(path, sizeof path, "%s/tmp-1-0123456789abcdef", dir);
   int fd = open(path, O_CREAT | O_WRONLY, 0600);
   close(fd);
   c.max_bytes = 60000;
   assert_true(tl_cache_prune(&c, 3600, why));
   TlCacheStats stats;
   assert_true(tl_cache_visit(dir, TL_CACHE_COUNT, &stats, why));
   assert_int_equal(stats.entries, 4); /* below three quarters of the limit */
   assert_int_equal(stats.temporary, 1);
   for (int i = 0; i < 10; i++) {
      uint8_t key[TL_CACHE_KEY_BYTES] = {(uint8_t)i};
      assert_int_equal(tl_cache_get(&c, key, &e), i == 0 || i > 6);
      tl_cache_entry_free(&e);
   }
   const struct timespec ahead[2] = {{.tv_sec = now + 60}, {.tv_sec = now + 60}}; /* its clock */
   assert_int_equal(utimensat(AT_FDCWD, path, ahead, 0), 0);
   assert_true(tl_cache_prune(&c, 0, why)); /* whatever is being written counts as left behind */
   assert_true(tl_cache_visit(dir, TL_CACHE_VERIFY, &stats, why));
   assert_int_equal(stats.entries, 4);
   assert_int_equal(stats.damaged + stats.temporary, 0);
   assert_int_equal(truncate(strcat(strcpy(path, dir), "/lock-prune"), 0), 0);
   assert_true(tl_cache_visit(dir, TL_CACHE_CLEAR, &stats, why));
   assert_int_equal(stats.removed, 5);
   assert_int_equal(rmdir(dir), 0); /* nothing of the cache is left */
   assert_true(tl_cache_visit(dir, TL_CACHE_COUNT, &stats, why));
   assert_int_equal(stats.entries, 0);
}

/* A folder may hold files of others, whatever their names begin with. */
static void
only_its_own_files_are_removed(void **state)
{
   (void)state;
   static const char *const theirs[] = {
      "tmp-notes",
      "tmp-1-2",
      "tmp-1-0123456789abcdef.c",
      "tmp--0123456789abcdef",
      "lock-file",
      "lock-abc",
      "lock-",
      "lock-AB",
   };
   static const char *const own[] = {"tmp-1-0123456789abcdef", "tmp-22-0123456789abcdef.ptx",
                                     "tmp-1-0123456789abcdef.cubin", "lock-0a", "lock-prune"};
   enum { THEIRS = sizeof theirs / sizeof theirs[0], OWN = sizeof own / sizeof own[0] };
   char path[512], why[TL_CACHE_WHY] = "";
   const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
   TlCache c = cache_in(dir);
   assert_true(tl_cache_put(&c, some_key, some_parts, why)); /* makes the folder */
   for (unsigned i = 0; i < THEIRS + OWN; i++) {
      snprintf(path, sizeof path, "%s/%s", dir, i < THEIRS ? theirs[i] : own[i - THEIRS]);
      int fd = open(path, O_CREAT | O_WRONLY, 0600);
      assert_int_equal(futimens(fd, old), 0);
      close(fd);
   }
   TlCacheStats stats;
   assert_true(tl_cache_visit(dir, TL_CACHE_COUNT, &stats, why)); /* changes nothing */
   assert_int_equal(stats.removed, 0);
   assert_int_equal(stats.temporary, 3);
   assert_true(tl_cache_visit(dir, TL_CACHE_VERIFY, &stats, why));
   assert_int_equal(stats.removed, 3);
   assert_true(tl_cache_visit(dir, TL_CACHE_CLEAR, &stats, why));
   assert_int_equal(stats.removed, 3); /* two locks and the entry */
   for (unsigned i = 0; i < THEIRS; i++) {
      snprintf(path, sizeof path, "%s/%s", dir, theirs[i]);
      if (unlink(path) != 0)
         fail_msg("'%s' is gone", theirs[i]);
   }
   assert_int_equal(rmdir(dir), 0);
}

static void
locks_are_exclusive_and_time_out(void **state)
{
   (void)state;
   TlCache c = cache_in(dir);
   int one = tl_cache_lock(&c, some_key, 0);
   assert_true(one >= 0);
   assert_int_equal(tl_cache_lock(&c, some_key, 20), -1);
   tl_cache_unlock(one);
   one = tl_cache_lock(&c, some_key, 0);
   assert_true(one >= 0);
   tl_cache_unlock(one);
   TlCache nowhere = cache_in("/proc/tilec");
   assert_int_equal(tl_cache_lock(&nowhere, some_key, 1000), -1);
   tl_cache_unlock(-1);
}

static void
write_script(const char *path, const char *text)
{
   int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0700);
   assert_int_equal(write(fd, text, strlen(text)), strlen(text));
   close(fd);
}

/* An assembler that is a script: its cubin is kept beside the PTX and loaded instead of it. */
static void
cubins_are_kept(void **state)
{
   (void)state;
   char path[128];
   snprintf(path, sizeof path, "%s/ptxas", folder);
   write_script(path, "#!/bin/sh\n[ \"$1\" = -arch=sm_90a ] || exit 1\n"
                      "printf '\\177ELF .entry k ' >\"$3\"\n");
   jit_options.ptxas = path;
   assert_int_equal(compiles_of_a_run(7), 1);
   assert_memory_equal(fake()->ptx, "\177ELF", 4);
   jit_options.ptxas = NULL;
   assert_int_equal(compiles_of_a_run(7), 0);
   assert_memory_equal(fake()->ptx, "\177ELF", 4);
   start();
   fake_fail("cuModuleLoadDataEx", 1, 209); /* no binary for this GPU: the PTX is beside it */
   assert_int_equal(TILEC_LAUNCH(kernel, 0, 1, 1, 1, (float *)0x1000, 7), TILEC_OK);
   assert_memory_equal(fake()->ptx, "//", 2);
   stop();
   jit_options.ptxas = "/nowhere/ptxas";
   assert_int_equal(compiles_of_a_run(16), 1);
   assert_non_null(strstr(said, "made no cubin for sm_90a: cannot run it: No such file"));
   write_script(path, "#!/bin/sh\necho hm\necho 'ptxas fatal   : no such thing' >&2\nexit 3\n");
   jit_options.ptxas = path;
   assert_int_equal(compiles_of_a_run(1), 1);
   assert_non_null(strstr(said, "made no cubin for sm_90a: ptxas fatal   : no such thing"));
   assert_int_equal(compiles_of_a_run(16), 0); /* PTX alone is kept all the same */
}

/* Entries of a time without an assembler get their cubin once there is one. */
static void
an_assembler_that_appears_is_asked(void **state)
{
   (void)state;
   char path[128];
   snprintf(path, sizeof path, "%s/ptxas", folder);
   jit_options.ptxas = NULL;
   assert_int_equal(compiles_of_a_run(7), 1);
   assert_int_equal(compiles_of_a_run(16), 1);
   assert_memory_equal(fake()->ptx, "//", 2);
   write_script(path, "#!/bin/sh\nprintf '\\177ELF .entry k ' >\"$3\"\n");
   jit_options.ptxas = path;
   assert_int_equal(compiles_of_a_run(7), 0);
   assert_memory_equal(fake()->ptx, "\177ELF", 4);
   jit_options.ptxas = NULL;
   assert_int_equal(compiles_of_a_run(7), 0);
   assert_memory_equal(fake()->ptx, "\177ELF", 4);
}

/* An assembler that refuses this very PTX is asked once; where something else went wrong it may go
 * well the next time.  Words of ptxas 13.0. */
static void
only_refusals_of_the_ptx_are_remembered(void **state)
{
   static const struct {
      const char *does;
      bool is_refusal;
   } cases[] = {
      {"echo 'ptxas t, line 5; error   : Not a name of any known instruction: foo'\n"
       "echo 'ptxas fatal   : Ptx assembly aborted due to errors'; exit 255",
       true},
      {"echo \"ptxas error   : Entry function 'k' uses too much shared data\"; exit 255", true},
      {"echo \"ptxas t, line 1; fatal   : Unsupported .version 9.9; current version is '9.0'\"\n"
       "echo 'ptxas fatal   : Ptx assembly aborted due to errors'; exit 255",
       false},
      {"echo \"ptxas t, line 1; fatal   : Unsupported .version 9.9; current version is '9.0'\"\n"
       "echo 'ptxas t, line 5; error   : Not a name of any known instruction: foo'; exit 255",
       false},
      {"echo \"ptxas fatal   : Value 'sm_90a' is not defined for option 'gpu-name'\"; exit 255",
       false},
      {"echo 'ptxas fatal   : Memory allocation failure'; exit 255", false},
      {"exit 3", false},            /* without a word */
      {"printf hm >\"$3\"", false}, /* content, but made no cubin: the disk is full */
      {":", false},                 /* content, but made nothing */
      {"echo 'ptxas error   : x'", false},
      {"echo 'ptxas error   : x'; kill -9 $$", false},
   };
   (void)state;
   char path[128], script[512], asked[160];
   snprintf(path, sizeof path, "%s/ptxas", folder);
   snprintf(asked, sizeof asked, "%s/asked", folder);
   for (int fresh = 0; fresh < 2; fresh++)
      for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
         struct stat st;
         remove_tree(dir);
         (void)unlink(asked);
         snprintf(script, sizeof script, "#!/bin/sh\nprintf x >>%s\n%s\n", asked, cases[i].does);
         write_script(path, script);
         jit_options.ptxas = fresh ? path : NULL;
         assert_int_equal(compiles_of_a_run(16), 1);
         jit_options.ptxas = path;
         for (int run = fresh; run < 3; run++) {
            assert_int_equal(compiles_of_a_run(16), 0);
            assert_memory_equal(fake()->ptx, "//", 2);
         }
         assert_int_equal(stat(asked, &st), 0);
         if (st.st_size != (cases[i].is_refusal ? 1 : 3))
            fail_msg("%s: asked %d times", cases[i].does, (int)st.st_size);
      }
}

int test_cache(void);
int
test_cache(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
   const struct CMUnitTest tests[] = {
      TEST(the_second_run_compiles_nothing),
      TEST(few_programs_are_kept_beside_others),
      TEST(imports_are_looked_at),
      TEST(a_changed_byte_anywhere_is_a_miss),
      TEST(unsafe_folders_are_not_used),
      TEST(layers_are_read_and_not_written),
      TEST(trouble_with_the_disk_costs_no_kernel),
      TEST(the_least_recently_used_go_first),
      TEST(only_its_own_files_are_removed),
      TEST(locks_are_exclusive_and_time_out),
      TEST(cubins_are_kept),
      TEST(an_assembler_that_appears_is_asked),
      TEST(only_refusals_of_the_ptx_are_remembered),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}

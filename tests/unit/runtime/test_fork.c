/* After fork() every call of the child says so, whatever other threads of the parent were doing at
 * that moment; the child closes everything; the parent goes on.  And: no signal is touched. */
#include "fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mock_compiler.h"

static const TilecParamDecl params[] = {{.name = "x"}, {.name = "n"}};
static const TilecKernelDecl decl = {
   .name = "k", .file = "x.tile", .params = params, .num_params = 2};
static const TilecArgInfo image_args[] = {{.name = "n", .type = "i32"}};

typedef struct All {
   TilecRuntime *rt;
   TilecModule *source, *image; /* image: NULL on host executors */
   TilecKernel *kernel, *loaded;
   TilecBuffer *a, *b;
   TilecStream stream;
   TilecEvent *start, *stop;
   TilecPending *pending;
} All;

static TilecStatus
run(const TilecHostLaunch *launch, TilecFault *fault)
{
   (void)launch;
   (void)fault;
   return TILEC_OK;
}

static TilecStatus
launch_n(const All *o, int n)
{
   return TILEC_LAUNCH(o->kernel, o->stream, 1, 1, 1, tilec_view(TILEC_FP32, o->a, 0), n);
}

static void
open_all(All *o, TilecExecutor on)
{
   TilecRuntimeOptions ro = {.struct_size = sizeof ro, .executor = on, .driver_path = FAKE_DRIVER};
   TilecSource s = {.struct_size = sizeof s, .file = "x.tile"};
   memset(&mock, 0, sizeof mock);
   mock.decls = &decl;
   mock.num_decls = 1;
   mock.run = run;
   fake_clear();
   *o = (All){0};
   assert_int_equal(tilec_runtime_open(&ro, &o->rt), TILEC_OK);
   assert_int_equal(tilec_jit_attach(o->rt, NULL), TILEC_OK);
   assert_int_equal(tilec_module_from_source(o->rt, &s, &o->source), TILEC_OK);
   assert_int_equal(tilec_module_kernel(o->source, "k", &o->kernel), TILEC_OK);
   if (on == TILEC_ON_CUDA) {
      TilecKernelInfo k = {KERNEL_DEFAULTS, .args = image_args, .num_args = 1};
      TilecImageInfo image = image_of(&k, 1);
      assert_int_equal(load_info(o->rt, &image, &o->image), TILEC_OK);
      assert_int_equal(tilec_module_kernel(o->image, "k", &o->loaded), TILEC_OK);
   }
   assert_int_equal(tilec_buffer_new(o->rt, 256, &o->a), TILEC_OK);
   assert_int_equal(tilec_buffer_new(o->rt, 256, &o->b), TILEC_OK);
   assert_int_equal(tilec_stream_new(o->rt, &o->stream), TILEC_OK);
   assert_int_equal(tilec_event_new(o->rt, &o->start), TILEC_OK);
   assert_int_equal(tilec_event_new(o->rt, &o->stop), TILEC_OK);
   assert_int_equal(tilec_event_record(o->start, o->stream), TILEC_OK);
   assert_int_equal(tilec_event_record(o->stop, o->stream), TILEC_OK);
   TilecArg args[] = {tilec_view(TILEC_FP32, o->a, 0), TILEC_ARG(3)};
   assert_int_equal(tilec_kernel_prepare_async(o->kernel, args, 2, &o->pending), TILEC_OK);
   assert_int_equal(tilec_pending_wait(o->pending), TILEC_OK);
   assert_int_equal(launch_n(o, 16), TILEC_OK);
}

static void
free_all(All *o)
{
   tilec_pending_free(o->pending);
   tilec_event_free(o->start);
   tilec_event_free(o->stop);
   tilec_stream_free(o->rt, o->stream);
   tilec_buffer_free(o->a);
   tilec_buffer_free(o->b);
   tilec_module_free(o->image);
   tilec_module_free(o->source);
   tilec_runtime_close(o->rt);
}

/* Number of the first call that does not answer TILEC_FORKED; 0 = none. */
static int
call_everything(All *o)
{
   _Alignas(16) char bytes[256] = "", text[256];
   double ms;
   TilecDeviceInfo info;
   TilecKernelUse use;
   TilecBuffer *buffer;
   TilecStream stream;
   TilecEvent *event;
   TilecModule *module;
   TilecKernel *kernel;
   TilecPending *pending;
   TilecSource s = {.struct_size = sizeof s, .file = "x.tile"};
   TilecArg args[] = {tilec_view(TILEC_FP32, o->a, 0), TILEC_ARG(16)};
   TilecLaunch l = {.stream = o->stream, .grid = {1, 1, 1}}, none = {.grid = {0, 1, 1}};
   const TilecStatus got[] = {
      tilec_runtime_device(o->rt, &info),
      tilec_runtime_sync(o->rt),
      tilec_buffer_new(o->rt, 64, &buffer),
      tilec_buffer_new(o->rt, 0, &buffer),
      tilec_buffer_wrap(o->rt, bytes, sizeof bytes, &buffer),
      tilec_buffer_from_dlpack(o->rt, (struct DLManagedTensorVersioned *)(void *)bytes, &buffer),
      tilec_buffer_upload(o->a, 0, bytes, sizeof bytes, o->stream),
      tilec_buffer_upload(o->a, 0, bytes, 0, o->stream),
      tilec_buffer_download(o->a, 0, bytes, sizeof bytes, o->stream),
      tilec_buffer_copy(o->a, 0, o->b, 0, 16, o->stream),
      tilec_buffer_fill(o->a, 0, 0, 16, o->stream),
      tilec_module_load(o->rt, "//", TILEC_STRLEN, "{}", TILEC_STRLEN, &module),
      tilec_module_from_source(o->rt, &s, &module),
      tilec_module_kernel(o->source, "k", &kernel),
      tilec_kernel_use(o->kernel, 0, &use),
      tilec_launch(o->kernel, &l, args, 2),
      tilec_launch(o->kernel, &none, args, 2),
      o->loaded ? TILEC_LAUNCH(o->loaded, o->stream, 1, 1, 1, 5) : TILEC_FORKED,
      tilec_kernel_prepare(o->kernel, args, 2),
      tilec_kernel_prepare_async(o->kernel, args, 2, &pending),
      tilec_pending_wait(o->pending),
      tilec_pending_query(o->pending),
      tilec_kernel_explain(o->kernel, args, 2, text, sizeof text),
      tilec_stream_new(o->rt, &stream),
      tilec_stream_sync(o->rt, o->stream),
      tilec_event_new(o->rt, &event),
      tilec_event_record(o->start, o->stream),
      tilec_stream_wait(o->stream, o->start),
      tilec_event_sync(o->start),
      tilec_event_query(o->start),
      tilec_event_elapsed(o->start, o->stop, &ms),
      tilec_jit_attach(o->rt, NULL),
      tilec_kernel_tune(o->kernel, &l, args, 2, NULL, NULL),
   };
   for (size_t i = 0; i < sizeof got / sizeof got[0]; i++)
      if (got[i] != TILEC_FORKED)
         return (int)i + 1;
   if (!tilec_runtime_error(o->rt, text, sizeof text) || !strstr(text, "opened by process"))
      return 100;
   (void)tilec_kernel_variants(o->kernel);
   (void)tilec_kernel_info(o->kernel, 0);
   return 0;
}

/* Everything in a child, under an alarm: a lock that nobody holds any more would wait for ever. */
static int
fork_and_call(All *o)
{
   int calls = fake()->total_calls;
   pid_t child = fork();
   if (child == 0) {
      alarm(20);
      calls = fake()->total_calls;
      int bad = call_everything(o);
      free_all(o);
      if (!bad && fake()->total_calls != calls)
         bad = 101; /* the driver is not to be touched */
      _exit(bad);
   }
   assert_true(child > 0);
   int how;
   assert_int_equal(waitpid(child, &how, 0), child);
   return WIFEXITED(how) ? WEXITSTATUS(how) : 1000 + WTERMSIG(how);
}

static void
a_forked_child_is_told(void **state)
{
   (void)state;
   for (TilecExecutor on = TILEC_ON_CUDA; on <= TILEC_ON_CPU; on++) {
      All o;
      open_all(&o, on);
      assert_int_equal(fork_and_call(&o), 0);
      assert_int_equal(launch_n(&o, 16), TILEC_OK); /* the parent goes on */
      assert_int_equal(launch_n(&o, 17), TILEC_OK);
      free_all(&o);
      assert_int_equal(fake()->contexts + fake()->modules + fake()->buffers + fake()->streams +
                          fake()->events,
                       0);
      assert_int_equal(mock.alive, 0);
   }
}

static atomic_bool is_over;

typedef struct Worker {
   All *all;
   int id;
   int failures;
} Worker;

/* Compiles, launches, fails: every lock of the runtime is taken again and again. */
static void *
be_busy(void *user)
{
   Worker *w = user;
   char text[256];
   for (int i = 0; !atomic_load(&is_over); i++) {
      TilecArg args[] = {tilec_view((TilecDtype)(1 + (i + w->id) % 15), w->all->a, 0),
                         TILEC_ARG(i % 3 ? 16 : 1)};
      TilecPending *p = NULL;
      if (tilec_kernel_prepare_async(w->all->kernel, args, 2, &p) != TILEC_OK ||
          tilec_pending_wait(p) != TILEC_OK)
         w->failures++;
      tilec_pending_free(p);
      if (tilec_buffer_upload(w->all->a, 250, text, 16, NULL) != TILEC_BAD_ARGUMENT)
         w->failures++;
      tilec_runtime_error(w->all->rt, text, sizeof text);
      if (tilec_kernel_explain(w->all->kernel, args, 2, text, sizeof text) != TILEC_OK)
         w->failures++;
   }
   return NULL;
}

static void
threads_may_be_anywhere_at_a_fork(void **state)
{
   (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
   skip(); /* the sanitizer's own allocator may be locked at the fork */
#endif
   enum { THREADS = 4, FORKS = 60 };
   All o;
   Worker workers[THREADS];
   pthread_t threads[THREADS];
   open_all(&o, TILEC_ON_CPU);
   atomic_store(&is_over, false);
   for (int i = 0; i < THREADS; i++) {
      workers[i] = (Worker){&o, i, 0};
      assert_int_equal(pthread_create(&threads[i], NULL, be_busy, &workers[i]), 0);
   }
   for (int i = 0; i < FORKS; i++) {
      int bad = fork_and_call(&o);
      if (bad)
         fail_msg("fork %d: %d", i, bad);
   }
   atomic_store(&is_over, true);
   for (int i = 0; i < THREADS; i++) {
      pthread_join(threads[i], NULL);
      assert_int_equal(workers[i].failures, 0);
   }
   free_all(&o);
   assert_int_equal(mock.alive, 0);
}

static void
no_signal_is_touched(void **state)
{
   (void)state;
   struct sigaction before[65], after;
   sigset_t mask, mask_after;
   All o;
   for (int s = 1; s < 65; s++)
      if (sigaction(s, NULL, &before[s]) != 0)
         before[s].sa_handler = SIG_ERR;
   pthread_sigmask(SIG_SETMASK, NULL, &mask);
   open_all(&o, TILEC_ON_CUDA);
   for (int round = 0; round < 2; round++) {
      for (int s = 1; s < 65; s++)
         if (sigaction(s, NULL, &after) == 0 && after.sa_handler != before[s].sa_handler)
            fail_msg("signal %d has another handler", s);
      pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
      for (int s = 1; s < 65; s++)
         assert_int_equal(sigismember(&mask, s), sigismember(&mask_after, s));
      if (round == 0)
         free_all(&o);
   }
}

int test_fork(void);
int
test_fork(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_forked_child_is_told),
      cmocka_unit_test(threads_may_be_anywhere_at_a_fork),
      cmocka_unit_test(no_signal_is_touched),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The switch saves what the System V ABI says a callee must keep (rbx, rbp, r12..r15) on the
 * stack that is left and takes the same from the stack that is entered.  Control words of the
 * FPU are not switched: nobody changes them.  Invariant: a fiber that does not run has its six
 * registers and a return address on top of its stack. */
#include "exec/sim/fiber.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif

#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef HAS_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#ifdef __x86_64__
void tl_fiber_swap(void **save_sp, void *load_sp);
void tl_fiber_trampoline(void);
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden tl_fiber_swap\n"
        ".globl tl_fiber_swap\n"
        ".type tl_fiber_swap,@function\n"
        "tl_fiber_swap:\n"
        "   pushq %rbp\n"
        "   pushq %rbx\n"
        "   pushq %r12\n"
        "   pushq %r13\n"
        "   pushq %r14\n"
        "   pushq %r15\n"
        "   movq %rsp, (%rdi)\n"
        "   movq %rsi, %rsp\n"
        "   popq %r15\n"
        "   popq %r14\n"
        "   popq %r13\n"
        "   popq %r12\n"
        "   popq %rbx\n"
        "   popq %rbp\n"
        "   ret\n"
        ".size tl_fiber_swap,.-tl_fiber_swap\n"
        ".p2align 4\n"
        ".hidden tl_fiber_trampoline\n"
        ".globl tl_fiber_trampoline\n"
        ".type tl_fiber_trampoline,@function\n"
        "tl_fiber_trampoline:\n" /* rbx = fn, r12 = arg */
        "   xorl %ebp, %ebp\n"
        "   movq %r12, %rdi\n"
        "   callq *%rbx\n"
        "   ud2\n"
        ".size tl_fiber_trampoline,.-tl_fiber_trampoline\n");

bool
tl_fiber_is_supported(void)
{
   return true;
}

static void *
initial_stack(char *top, void (*fn)(void *), void *arg)
{
   union {
      void (*fn)(void *);
      void (*plain)(void);
      uintptr_t word;
   } body = {fn}, start;
   start.plain = tl_fiber_trampoline;
   /* r15 r14 r13 r12 rbx rbp, return address; rsp is then 16-aligned, as before a call */
   uintptr_t words[] = {0, 0, 0, (uintptr_t)arg, body.word, 0, start.word, 0, 0};
   char *sp = top - sizeof words;
   memcpy(sp, words, sizeof words);
   return sp;
}
#else
static void
tl_fiber_swap(void **save_sp, void *load_sp)
{
   (void)save_sp;
   (void)load_sp;
   __builtin_trap();
}

bool
tl_fiber_is_supported(void)
{
   return false;
}

static void *
initial_stack(char *top, void (*fn)(void *), void *arg)
{
   (void)fn;
   (void)arg;
   return top;
}
#endif

static size_t
page_bytes(void)
{
   return (size_t)sysconf(_SC_PAGESIZE);
}

void *
tl_fiber_stack_new(size_t bytes)
{
   size_t guard = page_bytes();
   assert(bytes > 0 && bytes % guard == 0);
   char *p = mmap(NULL, bytes + guard, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
   if (p == MAP_FAILED)
      return NULL;
   if (mprotect(p, guard, PROT_NONE)) {
      munmap(p, bytes + guard);
      return NULL;
   }
   return p + guard;
}

void
tl_fiber_stack_free(void *low, size_t bytes)
{
   size_t guard = page_bytes();
#ifdef HAS_ASAN
   __asan_unpoison_memory_region(low, bytes);
#endif
   munmap((char *)low - guard, bytes + guard);
}

/* The frames that AddressSanitizer keeps of a fiber that was given up go when a fiber leaves its
 * stack for good: on paper, this thread enters that stack and leaves it so. */
#ifdef HAS_ASAN
__attribute__((no_sanitize_address)) static void
drop_fake_stack(TlFiber *fiber)
{
   void *own;
   const void *low;
   size_t bytes;
   if (!fiber->fake_stack)
      return;
   __sanitizer_start_switch_fiber(&own, fiber->low, fiber->bytes);
   __sanitizer_finish_switch_fiber(fiber->fake_stack, &low, &bytes);
   __sanitizer_start_switch_fiber(NULL, low, bytes);
   __sanitizer_finish_switch_fiber(own, NULL, NULL);
   fiber->fake_stack = NULL;
}
#endif

void
tl_fiber_start(TlFiber *fiber, void (*fn)(void *), void *arg)
{
#ifdef HAS_ASAN
   drop_fake_stack(fiber);
   __asan_unpoison_memory_region(fiber->low, fiber->bytes); /* frames left by a run given up */
#endif
#ifdef HAS_TSAN
   if (!fiber->tsan)
      fiber->tsan = __tsan_create_fiber(0);
#endif
   assert(fiber->low && (uintptr_t)fiber->low % 16 == 0 && fiber->bytes % 16 == 0);
   fiber->sp = initial_stack((char *)fiber->low + fiber->bytes, fn, arg);
}

void
tl_fiber_switch(TlFiber *from, TlFiber *to, bool is_last)
{
   (void)is_last;
   assert(from != to && to->sp);
#ifdef HAS_ASAN
   __sanitizer_start_switch_fiber(is_last ? NULL : &from->fake_stack, to->low, to->bytes);
#endif
#ifdef HAS_TSAN
   if (!from->tsan)
      from->tsan = __tsan_get_current_fiber();
   __tsan_switch_to_fiber(to->tsan, 0);
#endif
   tl_fiber_swap(&from->sp, to->sp);
#ifdef HAS_ASAN
   __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
   from->fake_stack = NULL;
#endif
}

void
tl_fiber_entered(TlFiber *from)
{
   (void)from;
#ifdef HAS_ASAN
   const void *low;
   size_t bytes;
   __sanitizer_finish_switch_fiber(NULL, &low, &bytes);
   from->low = (void *)(uintptr_t)low;
   from->bytes = bytes;
#endif
}

void
tl_fiber_free(TlFiber *fiber)
{
   (void)fiber;
#ifdef HAS_ASAN
   drop_fake_stack(fiber);
#endif
#ifdef HAS_TSAN
   if (fiber->tsan)
      __tsan_destroy_fiber(fiber->tsan);
   fiber->tsan = NULL;
#endif
}

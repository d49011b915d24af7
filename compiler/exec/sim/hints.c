/* Promises of `multiple_of`, `max_contiguous` and `max_constancy` in checked code.  Each thread
 * tells the values of its elements; what one makes of the beginning of its group is compared with
 * what the others of the group made of it, in whatever thread they are.
 *
 * Threads do not wait for each other here, as that could hide a race: one may be some iterations
 * ahead, so what is compared is of the same turn.  The table forgets what falls on a taken place: a
 * broken promise may go unseen then, one that holds is never doubted. */
#include "exec/sim/impl.h"

#include <assert.h>
#include <string.h>

enum { CELLS = 1 << 14 };

typedef struct HintCell {
   uint64_t block; /* number + 1; 0 = free */
   uint32_t hint, turn, group;
   TlBits begin; /* what the group begins with, as its first element told */
} HintCell;

struct SimHints {
   HintCell cell[CELLS];
   uint32_t turn[]; /* of thread i at hint h: [h * threads + i] */
};

/* One promise about one dimension. */
typedef struct Promise {
   int64_t hint, size;
   uint32_t inner, dim; /* elements from one to the next along it; how many those are */
   TlDtype dtype;
   uint64_t grain; /* from one value to the next consecutive one */
} Promise;

static Promise
promise_of(const TlOp *op)
{
   TlInts shape = tl_attr_ints(op, TL_ATTR_VALUES);
   const TlType *e = tl_type_elem(tl_arg(op, 0)->type);
   bool is_ptr = e->kind == TL_TYPE_PTR;
   uint32_t pointee = sim_pointee_bytes(op);
   Promise p = {.hint = tl_attr_int(op, TL_ATTR_HINT),
                .size = tl_attr_int(op, TL_ATTR_SIZE),
                .inner = 1,
                .dim = 1,
                .dtype = is_ptr ? TL_U64 : e->dtype,
                .grain = !is_ptr   ? 1
                         : pointee ? pointee
                                   : 8};
   size_t axis = (size_t)tl_attr_int(op, TL_ATTR_AXIS);
   for (size_t d = axis + 1; d < shape.len; d++)
      p.inner *= (uint32_t)shape.data[d];
   if (shape.len)
      p.dim = (uint32_t)shape.data[axis];
   return p;
}

/* At most one warning of each hint, of the first block. */
static void
warn(SimThread *t, const TlHostSite *h, const Promise *p, uint32_t element)
{
   SimLaunch *l = t->block->launch;
   TlInts shape = tl_attr_ints(h->op, TL_ATTR_VALUES);
   SimWarning *w = &l->warnings[sim_site(h)->hint];
   pthread_mutex_lock(&l->lock);
   if (!w->block || t->block->number + 1 < w->block) {
      TlExecFault f = {.kind = TL_FAULT_ASSUME, .op = tl_exec_promise(h->op), .value = p->size};
      f.rank = (uint32_t)shape.len;
      for (uint32_t d = f.rank; d-- > 0; element /= (uint32_t)shape.data[d])
         f.element[d] = element % (uint32_t)shape.data[d];
      *w = (SimWarning){t->block->number + 1, sim_place(t, h, (TlSimFault){.base = f}).base};
   }
   pthread_mutex_unlock(&l->lock);
}

static bool
agrees(const SimBlock *b, const Promise *p, HintCell now, TlBits value, uint32_t place)
{
   uint64_t step = p->hint == TL_HINT_CONTIGUOUS ? p->grain : 0;
   now.begin = tl_int_to_bits(p->dtype, (int64_t)(value - place * step));
   uint64_t key = now.block * 31 + now.hint;
   key = (key * 31 + now.turn) * 0x9e3779b97f4a7c15u + now.group;
   HintCell *c = &b->hints->cell[(key * 0x9e3779b97f4a7c15u >> 32) % CELLS];
   bool is_known =
      c->block == now.block && c->hint == now.hint && c->turn == now.turn && c->group == now.group;
   if (!is_known)
      *c = now;
   return c->begin == now.begin;
}

static bool
holds(const SimThread *t, const SimSite *s, const Promise *p, TlBits value, uint32_t element)
{
   uint32_t place = element / p->inner % p->dim;
   if (p->hint == TL_HINT_DIVISIBLE) /* the first along the dimension begins a group */
      return place || tl_bits_to_int(p->dtype, value) % p->size == 0;
   uint32_t in_group = p->size < p->dim ? place % (uint32_t)p->size : place;
   HintCell now = {.block = t->block->number + 1,
                   .hint = s->hint,
                   .turn = t->block->hints->turn[s->hint * t->block->num_threads + t->index],
                   .group = element - in_group * p->inner};
   return agrees(t->block, p, now, value, in_group);
}

void
sim_hints_clear(SimBlock *b)
{
   if (b->hints)
      memset(b->hints->turn, 0,
             (size_t)b->launch->kernel->num_hints * b->num_threads * sizeof b->hints->turn[0]);
}

void
sim_check_hint(TlHostThread *host, const TlHostSite *h, unsigned char *frame)
{
   SimThread *t = sim_thread(host);
   SimBlock *b = t->block;
   const SimSite *s = sim_site(h);
   if (!b->launch->warnings)
      return;
   size_t turns = (size_t)b->launch->kernel->num_hints * b->num_threads;
   if (!b->hints)
      b->hints = sim_alloc(t, sizeof *b->hints + turns * sizeof b->hints->turn[0]);
   Promise p = promise_of(h->op);
   uint32_t bytes = tl_dtype_info[p.dtype].bytes, n = tl_type_num_regs(tl_arg(h->op, 0)->type);
   for (uint32_t r = 0; r < n; r++) {
      uint32_t element;
      memcpy(&element, frame + h->arg_at[1] + 4 * (size_t)r, 4);
      TlBits value = tl_load_elem(p.dtype, frame + h->arg_at[0] + (size_t)r * bytes);
      if (!holds(t, s, &p, value, element)) {
         warn(t, h, &p, element);
         break;
      }
   }
   b->hints->turn[s->hint * b->num_threads + t->index]++;
}

/* Operations of one thread: elementwise ones that generated code leaves to the exact models,
 * who-am-I, printing and assertions. */
#include "exec/sim/impl.h"
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static TlDtype
dtype_of(const TlType *t)
{
   const TlType *e = tl_type_elem(t);
   return e->kind == TL_TYPE_PTR ? TL_U64 : e->dtype;
}

/* ---- elementwise ---- */
enum { MAX_ARGS = 3 };

typedef struct Lanes {
   const unsigned char *arg[MAX_ARGS];
   uint32_t step[MAX_ARGS]; /* bytes from one register to the next; 0 = one for all */
   unsigned char *out;
   uint32_t n;
} Lanes;

static float
to_float(const unsigned char *p)
{
   float f;
   memcpy(&f, p, 4);
   return f;
}

static bool
fma_f32(const Lanes *x)
{
   for (uint32_t i = 0; i < x->n; i++) {
      float y = fmaf(to_float(x->arg[0] + i * x->step[0]), to_float(x->arg[1] + i * x->step[1]),
                     to_float(x->arg[2] + i * x->step[2]));
      memcpy(x->out + 4 * i, &y, 4);
   }
   return true;
}

static bool
div_f32(const Lanes *x)
{
   for (uint32_t i = 0; i < x->n; i++) {
      float y = to_float(x->arg[0] + i * x->step[0]) / to_float(x->arg[1] + i * x->step[1]);
      memcpy(x->out + 4 * i, &y, 4);
   }
   return true;
}

void
sim_eltwise(TlHostThread *host, const TlHostSite *h, unsigned char *frame)
{
   (void)host;
   const TlOp *op = h->op;
   const TlType *type = tl_result(op, 0)->type;
   TlDtype out = dtype_of(type), in[MAX_ARGS];
   Lanes x = {.out = frame + h->result_at[0], .n = tl_type_num_regs(type)};
   for (unsigned k = 0; k < op->num_args; k++) {
      in[k] = dtype_of(tl_arg(op, k)->type);
      x.arg[k] = frame + h->arg_at[k];
      x.step[k] = tl_type_num_regs(tl_arg(op, k)->type) == 1 ? 0 : tl_dtype_info[in[k]].bytes;
   }
   if (out == TL_FP32 && op->opcode == TL_OP_FMA && fma_f32(&x))
      return;
   if (out == TL_FP32 && op->opcode == TL_OP_DIV && div_f32(&x))
      return;
   uint32_t es = tl_dtype_info[out].bytes;
   for (uint32_t i = 0; i < x.n; i++) {
      TlBits args[MAX_ARGS];
      bool undefined = false;
      for (unsigned k = 0; k < op->num_args; k++)
         args[k] = tl_load_elem(in[k], x.arg[k] + i * x.step[k]);
      tl_store_elem(out, x.out + i * es, tl_eval(op->opcode, op->attrs, out, in, args, &undefined));
   }
}

/* ---- who am I ---- */
static void
put_u32(const TlHostSite *h, unsigned char *frame, uint32_t v)
{
   memcpy(frame + h->result_at[0], &v, 4);
}

void
sim_program_id(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   put_u32(h, frame, sim_thread(t)->block->program[sim_site(h)->word]);
}

void
sim_num_programs(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   put_u32(h, frame, sim_thread(t)->block->launch->grid[sim_site(h)->word]);
}

void
sim_block_id(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   const SimBlock *b = sim_thread(t)->block;
   put_u32(h, frame, (uint32_t)(b->number * b->cluster + sim_thread(t)->warp->rank));
}

void
sim_num_blocks(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   const SimBlock *b = sim_thread(t)->block;
   put_u32(h, frame, (uint32_t)(b->launch->num_blocks * b->cluster));
}

/* There is one multiprocessor, number 0; both clocks count nanoseconds. */
void
sim_sreg(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   (void)t;
   TlDtype d = dtype_of(tl_result(h->op, 0)->type);
   int64_t ns = sim_site(h)->word == TL_SREG_SMID ? 0 : (int64_t)tl_now_ns();
   tl_store_elem(d, frame + h->result_at[0], tl_int_to_bits(d, ns));
}

void
sim_nothing(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   (void)t;
   (void)h;
   (void)frame;
}

void
sim_inline_asm(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   enum { MOST = TL_PTX_MAX_OPERANDS_OF_CALL };
   const SimSite *s = sim_site(h);
   const TlOp *op = h->op;
   const void *arg[MOST];
   void *result[MOST];
   size_t num[MOST], n = 1;
   if (!s->ptx)
      sim_base_fault(sim_thread(t), h,
                     (TlExecFault){.kind = TL_FAULT_UNSUPPORTED, .text = s->ptx_error},
                     TL_EXEC_UNSUPPORTED);
   for (unsigned k = 0; k < op->num_results; k++) {
      result[k] = frame + h->result_at[k];
      n = tl_type_num_regs(tl_result(op, k)->type);
   }
   for (unsigned k = 0; k < op->num_args; k++) {
      arg[k] = frame + h->arg_at[k];
      num[k] = tl_type_num_regs(tl_arg(op, k)->type);
      n = num[k] > n ? num[k] : n;
   }
   tl_ptx_apply(s->ptx, arg, num, result, n);
}

/* ---- promises, assertions, printing ---- */
void
sim_assume(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   if (!frame[h->arg_at[0]])
      sim_base_fault(sim_thread(t), h, (TlExecFault){.kind = TL_FAULT_ASSUME}, TL_EXEC_FAULT);
}

void
sim_device_assert(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   const SimSite *s = sim_site(h);
   for (uint32_t r = 0; r < s->count; r++)
      if (sim_pred(s, h, frame, r) && !frame[h->arg_at[0] + r])
         sim_base_fault(
            sim_thread(t), h,
            (TlExecFault){.kind = TL_FAULT_ASSERT, .text = tl_attr_str(h->op, TL_ATTR_TEXT)},
            TL_EXEC_FAULT);
}

static int
print_value(char *out, size_t room, const TlType *type, const unsigned char *p, bool hex)
{
   TlDtype d = dtype_of(type);
   TlBits bits = tl_load_elem(d, p);
   unsigned long long u = bits;
   if (hex || tl_type_is_ptr_like(type))
      return snprintf(out, room, "0x%0*llx", tl_dtype_info[d].bytes * 2, u);
   if (tl_dtype_is_float(d))
      return snprintf(out, room, "%f", tl_bits_to_double(d, bits));
   if (tl_dtype_is_signed(d))
      return snprintf(out, room, "%lld", (long long)tl_bits_to_int(d, bits));
   return snprintf(out, room, "%llu", u);
}

static const unsigned char *
operand_at(const TlHostSite *h, const unsigned char *frame, unsigned k, uint32_t r)
{
   const TlType *type = tl_arg(h->op, k)->type;
   return frame + h->arg_at[k] +
          (tl_type_num_regs(type) > 1 ? r * tl_dtype_info[dtype_of(type)].bytes : 0);
}

/* The line of the device's printf: "pid (x, y, z) idx (i, j) prefix: (operand n) value"; k = the
 * value's operand, or their number when there is none. */
static void
print_register(SimThread *t, const TlHostSite *h, const unsigned char *frame, unsigned k,
               uint32_t r)
{
   enum { ROOM = 1024 };
   char line[ROOM];
   const SimBlock *b = t->block;
   const TlOp *op = h->op;
   const char *prefix = tl_attr_str(op, TL_ATTR_TEXT);
   TlInts widths = tl_attr_ints(op, TL_ATTR_WIDTHS);
   unsigned values = op->num_args - (unsigned)widths.len;
   int n = snprintf(line, ROOM, "pid (%u, %u, %u)%s", b->program[0], b->program[1], b->program[2],
                    values ? " idx (" : "");
   for (unsigned d = 0; d < widths.len; d++) {
      uint32_t at;
      memcpy(&at, operand_at(h, frame, d, r), 4);
      n += snprintf(line + n, (size_t)(ROOM - n), "%s%*u", d ? ", " : "", (int)widths.data[d], at);
   }
   n += snprintf(line + n, (size_t)(ROOM - n), "%s%.600s", values ? ")" : "", prefix ? prefix : "");
   if (values > 1)
      n += snprintf(line + n, (size_t)(ROOM - n), "(operand %u) ", k - (unsigned)widths.len);
   if (values)
      n += print_value(line + n, (size_t)(ROOM - n), tl_arg(op, k)->type,
                       operand_at(h, frame, k, r), tl_attr_int(op, TL_ATTR_HEX) != 0);
   n = n < ROOM - 2 ? n : ROOM - 2;
   line[n++] = '\n';
   const SimLaunch *l = b->launch;
   pthread_mutex_t *lock = &t->block->launch->lock;
   pthread_mutex_lock(lock);
   l->opts->print(l->opts->user, line, (size_t)n);
   pthread_mutex_unlock(lock);
}

void
sim_device_print(TlHostThread *host, const TlHostSite *h, unsigned char *frame)
{
   SimThread *t = sim_thread(host);
   if (!t->block->launch->opts->print)
      return;
   const TlOp *op = h->op;
   unsigned first = (unsigned)tl_attr_ints(op, TL_ATTR_WIDTHS).len;
   if (first == op->num_args)
      print_register(t, h, frame, first, 0);
   for (unsigned k = first; k < op->num_args; k++)
      for (uint32_t r = 0; r < tl_type_num_regs(tl_arg(op, k)->type); r++)
         print_register(t, h, frame, k, r);
}

/* Shared buffers of generated programs: what is alive keeps its bytes.  The check walks the program
 * as it runs, loops several times and one side of each branch, and notes for every byte which
 * buffer was put there last; lifetimes as the allocator computes them play no part. */
#include "passes/lower/impl.h"
#include "support/lowered_fixture.h"

enum { MAX_BYTES = 1 << 20, MAX_VISIBLE = 64, NUM_SIZES = 3, TRIPS = 3, WALKS = 4, GRANULE = 16 };

static const unsigned log2_sizes[NUM_SIZES] = {8, 10, 13};

/* ---- programs ---- */
typedef struct Gen {
   Kernel *k;
   unsigned next;
   unsigned size[MAX_VISIBLE], name[MAX_VISIBLE], num; /* buffers that may be read here */
   bool is_ring[MAX_VISIBLE];
} Gen;

/* #tN as registers, #uN with other lanes, #mN as memory, for 128 threads. */
static const char *
layouts(Kernel *k)
{
   TlSb sb;
   tl_sb_init(&sb, k->x.arena);
   for (unsigned s = 0; s < NUM_SIZES; s++) {
      unsigned bits = log2_sizes[s];
      for (unsigned form = 0; form < 3; form++) {
         tl_sb_printf(&sb, "#%c%u = {shape=[%u], reg=[", "tum"[form], s, 1u << bits);
         for (unsigned i = 0; i < bits; i++) {
            unsigned bit = form == 1 ? bits - 1 - i : form == 0 ? (i + 7) % bits : i;
            bool lane = form < 2 && i == bits - 7, warp = form < 2 && i == bits - 2;
            tl_sb_printf(&sb, "%s[%u]",
                         lane   ? "], lane=["
                         : warp ? "], warp=["
                         : i    ? ","
                                : "",
                         1u << bit);
         }
         tl_sb_str(&sb, form == 2 ? "], lane=[], warp=[], block=[]}\n" : "], block=[]}\n");
      }
   }
   return tl_sb_cstr(&sb);
}

static void
gen_alloc(Gen *g)
{
   unsigned s = k_below(g->k, NUM_SIZES), n = g->next++;
   bool is_ring = k_below(g->k, 4) == 0;
   if (g->num == MAX_VISIBLE)
      return;
   if (is_ring)
      k_line(g->k, "%%b%u = local_alloc : memdesc<i32, 3 x %u, #m%u>", n, 1u << log2_sizes[s], s);
   else
      k_line(g->k, "%%b%u = local_alloc %%v%u : memdesc<i32, %u, #m%u>", n, s, 1u << log2_sizes[s],
             s);
   g->size[g->num] = s;
   g->is_ring[g->num] = is_ring;
   g->name[g->num++] = n;
}

static void
gen_use(Gen *g)
{
   if (!g->num)
      return;
   unsigned at = k_below(g->k, g->num), s = g->size[at], n = g->next++, b = g->name[at];
   if (g->is_ring[at]) {
      k_line(g->k, "%%w%u = local_view %%b%u, %%one : memdesc<i32, %u, #m%u>", n, b,
             1u << log2_sizes[s], s);
      k_line(g->k, "local_store %%v%u, %%w%u", s, n);
   } else {
      k_line(g->k, "%%l%u = local_load %%b%u : tile<i32, %u, #t%u>", n, b, 1u << log2_sizes[s], s);
   }
}

static void
gen_block(Gen *g, unsigned depth)
{
   unsigned visible = g->num;
   for (unsigned left = 2 + k_below(g->k, 7); left; left--) {
      unsigned s = k_below(g->k, NUM_SIZES), kind = k_below(g->k, depth < 3 ? 9 : 7);
      if (kind < 2) {
         gen_alloc(g);
      } else if (kind < 5) {
         gen_use(g);
      } else if (kind < 7) {
         k_line(g->k, "%%c%u = convert_layout %%v%u : tile<i32, %u, #u%u>", g->next++, s,
                1u << log2_sizes[s], s);
      } else if (kind == 7) {
         k_line(g->k, "for %%i%u = %%zero to %%n step %%one {", g->next++);
         gen_block(g, depth + 1);
         k_line(g->k, "yield\n   }");
      } else {
         k_line(g->k, "if %%is {");
         gen_block(g, depth + 1);
         k_line(g->k, "yield\n   } else {");
         gen_block(g, depth + 1);
         k_line(g->k, "yield\n   }");
      }
   }
   g->num = visible;
}

static const char *
gen_text(Kernel *k)
{
   Gen g = {.k = k};
   k_line(k, "%%zero = constant : i32\n   %%one = constant 1 : i32");
   k_line(k, "%%is = lt %%n, %%one : i1");
   for (unsigned s = 0; s < NUM_SIZES; s++)
      k_line(k, "%%v%u = arange {end = %u} : tile<i32, %u, #t%u>", s, 1u << log2_sizes[s],
             1u << log2_sizes[s], s);
   gen_block(&g, 0);
   gen_block(&g, 0);
   return tl_arena_printf(k->x.arena,
                          "%sfunc @f(%%n: i32) {num_warps = 4, num_stages = 1, state = laid, "
                          "target = \"sm_90a\"} {\n%s   return\n}\n",
                          layouts(k), tl_sb_cstr(&k->body));
}

/* ---- walks ---- */
typedef struct Walk {
   Kernel *k;
   TlLowerCx *cx;
   TlMap instance_of; /* TlOp of the local_alloc -> number of its latest buffer */
   uintptr_t next;
   uintptr_t *owner; /* of each GRANULE bytes, which are nobody else's */
   unsigned buffers, scratch;
} Walk;

static void
own(Walk *w, uint32_t offset, uint32_t bytes, uintptr_t instance)
{
   assert_true((uint64_t)offset + bytes <= w->cx->func->shared_bytes && offset % GRANULE == 0);
   for (uint32_t i = 0; i < bytes; i += GRANULE)
      w->owner[(offset + i) / GRANULE] = instance;
}

static void
assert_intact(Walk *w, const TlValue *v)
{
   while (v->def->opcode == TL_OP_LOCAL_VIEW)
      v = tl_arg(v->def, 0);
   uintptr_t instance = (uintptr_t)tl_map_get(&w->instance_of, v->def);
   uint32_t offset = (uint32_t)tl_attr_int(v->def, TL_ATTR_OFFSET);
   uint32_t bytes = tl_memdesc_stage_bytes(v->type) * v->type->count;
   for (uint32_t i = 0; i < bytes; i += GRANULE)
      if (w->owner[(offset + i) / GRANULE] != instance)
         fail_msg("byte %u of buffer %zu belongs to %zu\n%s", offset + i, (size_t)instance,
                  (size_t)w->owner[(offset + i) / GRANULE], ir_print(&w->k->x, w->k->x.module));
}

static void
walk_block(Walk *w, const TlBlock *block)
{
   for (TlOp *op = block->first; op; op = op->next) {
      const TlScratchSlot *slot = tl_map_get(&w->cx->scratch_of, op);
      if (op->opcode == TL_OP_LOCAL_ALLOC) {
         const TlType *t = tl_result(op, 0)->type;
         tl_map_put(&w->instance_of, op, (void *)++w->next);
         own(w, (uint32_t)tl_attr_int(op, TL_ATTR_OFFSET), tl_memdesc_stage_bytes(t) * t->count,
             w->next);
         w->buffers++;
      } else if (slot) {
         own(w, slot->offset, slot->bytes, ++w->next);
         w->scratch++;
      }
      for (unsigned i = 0; i < op->num_args; i++)
         if (tl_arg(op, i)->type->kind == TL_TYPE_MEMDESC)
            assert_intact(w, tl_arg(op, i));
      if (op->opcode == TL_OP_IF)
         walk_block(w, op->regions[k_below(w->k, 2)]->block);
      for (unsigned trip = 0; op->opcode == TL_OP_FOR && trip < TRIPS; trip++)
         walk_block(w, op->regions[0]->block);
   }
}

static void
buffers_alive_at_one_time_do_not_overlap(void **state)
{
   (void)state;
   unsigned buffers = 0, scratch = 0, refused = 0, roomy = 0;
   for (unsigned seed = 0; seed < 400; seed++) {
      Kernel k;
      k_open(&k, seed);
      TlFunc *f = ir_must_read(&k.x, gen_text(&k));
      TlPassCx pass = k_context(&k);
      pass.target = tl_target_find(seed % 2 ? "sm_89" : "sm_90a");
      TlLowerCx cx = {.pass = &pass,
                      .func = f,
                      .types = f->module->types,
                      .arena = f->module->arena,
                      .scratch = pass.scratch};
      tl_map_init(&cx.scratch_of, pass.scratch);
      if (!tl_alloc_shared(&cx)) {
         assert_non_null(strstr(ir_messages(&k.x), "E0406"));
         assert_non_null(strstr(ir_messages(&k.x), "where the most are in use"));
         refused++;
         k_close(&k);
         continue;
      }
      roomy += f->shared_bytes > 64 * 1024;
      Walk w = {
         .k = &k, .cx = &cx, .owner = tl_new_array(k.scratch, uintptr_t, MAX_BYTES / GRANULE)};
      for (unsigned i = 0; i < WALKS; i++) {
         tl_map_init(&w.instance_of, k.scratch);
         walk_block(&w, f->body->block);
      }
      buffers += w.buffers;
      scratch += w.scratch;
      k_close(&k);
   }
   assert_true(buffers > 10000 && scratch > 10000); /* the programs are worth something */
   assert_true(refused > 0 && refused < 200 && roomy > 5);
}

/* Everything alive at the peak is named, with its stages; what is not alive then is not. */
static void
too_much_names_what_is_alive(void **state)
{
   (void)state;
   Kernel k;
   k_open(&k, 0);
   TlFunc *f = ir_must_read(
      &k.x, "#t = {shape=[8192], reg=[[128],[256],[512],[1024],[2048],[4096]], "
            "lane=[[1],[2],[4],[8],[16]], warp=[[32],[64]], block=[]}\n"
            "#m = {shape=[8192], reg=[[1],[2],[4],[8],[16],[32],[64],[128],[256],[512],[1024],"
            "[2048],[4096]], lane=[], warp=[], block=[]}\n"
            "func @f() {num_warps = 4, num_stages = 1, state = laid, target = \"sm_90a\"} {\n"
            "   %v = arange {end = 8192} : tile<i32, 8192, #t>\n"
            "   %early = local_alloc %v : memdesc<i32, 8192, #m>\n"
            "   %x = local_load %early : tile<i32, 8192, #t>\n"
            "   %b = add %x, %x : tile<i32, 8192, #t>\n"
            "   %ring = local_alloc : memdesc<i32, 7 x 8192, #m>\n"
            "   %one = constant 1 : i32\n"
            "   %at = local_view %ring, %one : memdesc<i32, 8192, #m>\n"
            "   local_store %v, %at\n"
            "   %second = local_alloc %b : memdesc<i32, 8192, #m>\n"
            "   %y = local_load %second : tile<i32, 8192, #t>\n"
            "   %z = local_load %at : tile<i32, 8192, #t>\n"
            "   return\n}\n");
   TlPassCx pass = k_context(&k);
   assert_false(tl_pass_lower(&pass, f));
   const char *text = ir_messages(&k.x);
   assert_non_null(strstr(text,
                          "test.tir:8:4: error[E0406]: shared memory of the block is limited "
                          "to 232448 bytes (227 KiB) on " LOWERED_ARCH "; this kernel needs 262144 "
                          "(256 KiB)"));
   assert_non_null(strstr(text, "test.tir:8:4: note: 229376 bytes are for this 'load' where the "
                                "most are in use: 7 stages of 32768 bytes"));
   assert_non_null(strstr(text, "test.tir:12:4: note: 32768 bytes are for this 'add' where the "
                                "most are in use: 1 stage of 32768 bytes"));
   assert_null(strstr(text, "test.tir:5:"));
   assert_non_null(strstr(text, "help: fewer stages or smaller tiles need less shared memory"));
   k_close(&k);
}

int test_alloc_shared(void);
int
test_alloc_shared(void)
{
   static const struct CMUnitTest tests[] = {
      cmocka_unit_test(buffers_alive_at_one_time_do_not_overlap),
      cmocka_unit_test(too_much_names_what_is_alive),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}

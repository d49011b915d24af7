/* The events of the trace with roles at work beside each other: a model whose order is the
 * program's and whose durations are made up (below), so that it shows what waits for what, not how
 * long it takes.  Copies land some time after they are begun, products of wgmma run one after the
 * other beside the warps, a wait at an mbarrier ends with the phase that it waits for. */
#include "view/impl.h"

#include <assert.h>

enum {
   ISSUE_TICKS = 2,
   MARK_TICKS = 1,
   LANDING_TICKS = 14,
   DOT_TICKS = 8,
   MOST_MATH_TICKS = 10,
   MATH_REGS_A_TICK = 48,
};

typedef struct Item {
   uint32_t event;
   uint32_t begin, end; /* ticks */
   uint32_t ready;      /* waits: ends with what was waited for; 0: no wait was needed */
   uint32_t done;       /* copies: landed; products: made */
} Item;

typedef struct Phases {
   uint32_t address, needed;
   uint32_t arrived, when;     /* in the phase that is open */
   TL_VEC(uint32_t) completed; /* ticks */
} Phases;

typedef struct Lane {
   TL_VEC(uint32_t) events; /* left, in order */
   size_t next;
   uint32_t now;
   uint32_t landed;            /* when all copies so far will have */
   uint32_t open;              /* likewise, since the last commit */
   TL_VEC(uint32_t) groups;    /* of copies, by when they land */
   TL_VEC(uint32_t) dots;      /* by when they are done */
   uint32_t product_unit_free; /* ticks */
   bool is_blocked;
} Lane;

typedef struct Plan {
   const TlView *view;
   TlArena *arena;
   TL_VEC(Item) items;
   TL_VEC(Phases) barriers;
   Lane *lanes;
   unsigned num_lanes;
   bool is_stuck;
} Plan;

static uint32_t
larger(uint32_t a, uint32_t b)
{
   return a > b ? a : b;
}

static Phases *
phases_at(Plan *p, const TlViewEvent *e)
{
   for (size_t i = 0; e->has_address && i < p->barriers.len; i++)
      if (p->barriers.data[i].address == e->address)
         return &p->barriers.data[i];
   return NULL;
}

static void
arrive(Plan *p, const TlViewEvent *e, uint32_t when)
{
   Phases *b = phases_at(p, e);
   if (!b)
      return;
   b->arrived += e->arrivals;
   b->when = larger(b->when, when);
   if (b->arrived < b->needed)
      return;
   tl_vec_push(p->arena, &b->completed, b->when);
   b->arrived = b->when = 0;
   for (unsigned i = 0; i < p->num_lanes; i++)
      p->lanes[i].is_blocked = false;
}

/* The boxes that a phase expects are begun next, one after the other. */
static uint32_t
boxes_land(const Plan *p, const Lane *l, uint32_t begin)
{
   const TlViewEvent *all = p->view->trace.events.data, *expect = &all[l->events.data[l->next]];
   uint32_t land = begin + MARK_TICKS;
   for (size_t i = l->next + 1; i < l->events.len; i++) {
      const TlViewEvent *e = &all[l->events.data[i]];
      if (e->act == TL_ACT_SYNC)
         continue; /* the barrier in front of the boxes of a loop without roles */
      if (e->act != TL_ACT_COPY || !e->has_address || e->address != expect->address)
         break;
      begin += ISSUE_TICKS;
      land = begin + LANDING_TICKS;
   }
   return land;
}

/* Ends with the wait; false: nobody has completed the phase yet. */
static bool
wait_for_phase(Plan *p, const TlViewEvent *e, Item *item)
{
   Phases *b = phases_at(p, e);
   uint32_t n = b ? (uint32_t)b->completed.len : 0;
   if (b && (n & 1) == (e->parity & 1))
      return false;
   item->ready = b && n ? b->completed.data[n - 1] : 0;
   item->end = larger(item->end, item->ready);
   return true;
}

/* At most `left` of the queue's newest stay; the oldest end the wait. */
static void
wait_for_queue(const uint32_t *when, size_t len, uint32_t left, Item *item)
{
   for (size_t i = 0; i + left < len; i++)
      item->ready = larger(item->ready, when[i]);
   item->end = larger(item->end, item->ready);
}

static uint32_t
ticks_of(const TlViewEvent *e)
{
   uint32_t math = 1 + e->num / MATH_REGS_A_TICK;
   switch (e->act) {
   case TL_ACT_MATH:
      return math < MOST_MATH_TICKS ? math : MOST_MATH_TICKS;
   case TL_ACT_DOT:
      return e->is_async ? ISSUE_TICKS : DOT_TICKS;
   case TL_ACT_COPY:
   case TL_ACT_READ:
   case TL_ACT_WRITE:
   case TL_ACT_ATOMIC:
   case TL_ACT_LOAD:
   case TL_ACT_STORE:
      return ISSUE_TICKS;
   default:
      return MARK_TICKS;
   }
}

static void
begin_dot(Plan *p, Lane *l, const TlViewEvent *e, Item *item)
{
   item->done = item->end;
   if (!e->is_async)
      return;
   item->done = larger(item->begin, l->product_unit_free) + DOT_TICKS;
   l->product_unit_free = item->done;
   tl_vec_push(p->arena, &l->dots, item->done);
}

static void
begin_copy(Lane *l, Item *item)
{
   item->done = item->begin + LANDING_TICKS;
   l->landed = larger(l->landed, item->done);
   l->open = larger(l->open, item->done);
}

/* The lane's next event; false: it has to wait for another lane. */
static bool
do_next(Plan *p, Lane *l)
{
   const TlViewEvent *e = &p->view->trace.events.data[l->events.data[l->next]];
   Item item = {.event = l->events.data[l->next], .begin = l->now};
   item.end = item.begin + ticks_of(e);
   switch (e->act) {
   case TL_ACT_COPY:
      begin_copy(l, &item);
      break;
   case TL_ACT_COMMIT:
      tl_vec_push(p->arena, &l->groups, l->open);
      l->open = 0;
      break;
   case TL_ACT_WAIT_COPIES:
      wait_for_queue(l->groups.data, l->groups.len, e->num, &item);
      break;
   case TL_ACT_DOT:
      begin_dot(p, l, e, &item);
      break;
   case TL_ACT_WAIT_DOTS:
      wait_for_queue(l->dots.data, l->dots.len, e->num, &item);
      break;
   case TL_ACT_BARRIER_WAIT:
      if (!wait_for_phase(p, e, &item))
         return false;
      break;
   case TL_ACT_BARRIER_ARRIVE:
      arrive(p, e, item.end);
      break;
   case TL_ACT_COPY_ARRIVE:
      arrive(p, e, larger(item.end, l->landed));
      break;
   case TL_ACT_EXPECT:
      arrive(p, e, boxes_land(p, l, item.end));
      break;
   default:
      break;
   }
   tl_vec_push(p->arena, &p->items, item);
   l->now = item.end;
   l->next++;
   return true;
}

/* The lane that is furthest behind of those that can go on. */
static Lane *
next_lane(Plan *p)
{
   Lane *best = NULL;
   for (unsigned i = 0; i < p->num_lanes; i++) {
      Lane *l = &p->lanes[i];
      bool can_go = l->next < l->events.len && !l->is_blocked;
      if (can_go && (!best || l->now < best->now))
         best = l;
   }
   return best;
}

static void
run_lanes(Plan *p)
{
   for (Lane *l; (l = next_lane(p)) != NULL;)
      l->is_blocked = !do_next(p, l);
   for (unsigned i = 0; i < p->num_lanes; i++)
      p->is_stuck |= p->lanes[i].next < p->lanes[i].events.len;
}

/* What all warps do ends before roles begin, and the other way round. */
static void
meet(Plan *p)
{
   uint32_t latest = 0;
   for (unsigned i = 0; i < p->num_lanes; i++)
      latest = larger(latest, p->lanes[i].now);
   for (unsigned i = 0; i < p->num_lanes; i++)
      p->lanes[i].now = latest;
}

static Plan
make_plan(TlView *v)
{
   const TlViewTrace *t = &v->trace;
   Plan p = {.view = v, .arena = v->arena, .num_lanes = (unsigned)t->roles.len};
   p.lanes = tl_new_array(v->arena, Lane, t->roles.len + 1);
   for (size_t i = 0; i < t->barriers.len; i++)
      tl_vec_push(v->arena, &p.barriers,
                  (Phases){t->barriers.data[i].address, t->barriers.data[i].arrivals, 0, 0, {0}});
   for (size_t i = 0; i < t->events.len; i++) {
      const TlViewEvent *e = &t->events.data[i];
      if (i && (e->role == 0) != (t->events.data[i - 1].role == 0)) {
         run_lanes(&p);
         meet(&p);
      }
      tl_vec_push(v->arena, &p.lanes[e->role].events, (uint32_t)i);
   }
   run_lanes(&p);
   return p;
}

/* ---- as JSON ---- */
static const char *const act_names[TL_ACT_COUNT] = {
   [TL_ACT_COPY] = "copy",
   [TL_ACT_COMMIT] = "commit",
   [TL_ACT_WAIT_COPIES] = "wait_copies",
   [TL_ACT_COPY_ARRIVE] = "copy_arrive",
   [TL_ACT_EXPECT] = "expect",
   [TL_ACT_BARRIER_WAIT] = "barrier_wait",
   [TL_ACT_BARRIER_ARRIVE] = "barrier_arrive",
   [TL_ACT_DOT] = "dot",
   [TL_ACT_WAIT_DOTS] = "wait_dots",
   [TL_ACT_SYNC] = "sync",
   [TL_ACT_READ] = "read",
   [TL_ACT_WRITE] = "write",
   [TL_ACT_ATOMIC] = "atomic",
   [TL_ACT_LOAD] = "load",
   [TL_ACT_STORE] = "store",
   [TL_ACT_MATH] = "math",
};

static void
put_item(const TlView *v, const Item *item, TlSb *out)
{
   const TlViewEvent *e = &v->trace.events.data[item->event];
   tl_json_open(out, '{');
   tl_json_str(out, "act", act_names[e->act]);
   tl_json_int(out, "lane", e->role);
   tl_json_int(out, "begin", item->begin);
   tl_json_int(out, "end", item->end);
   if (item->ready > item->begin)
      tl_json_int(out, "ready", item->ready);
   if (item->done)
      tl_json_int(out, "done", item->done);
   if (e->trip)
      tl_json_int(out, "trip", e->trip);
   if (e->num)
      tl_json_int(out, "num", e->num);
   tl_json_bool(out, "async", e->is_async);
   if (e->is_masked)
      tl_json_bool(out, "masked", true);
   tl_json_int(out, "line", e->line);
   tl_json_int(out, "from", e->place);
   tl_json_open_field(out, "slots", '[');
   for (unsigned i = 0; i < e->num_slots; i++) {
      tl_json_open(out, '[');
      tl_json_int(out, NULL, v->buffers.data[e->slot[i].buffer].number);
      tl_json_int(out, NULL, e->slot[i].stage);
      tl_json_close(out, ']');
   }
   tl_json_close(out, ']');
   tl_json_close(out, '}');
}

void
tl_view_put_timeline(TlView *v, TlSb *out)
{
   const TlViewTrace *t = &v->trace;
   Plan p = make_plan(v);
   tl_json_open_field(out, "timeline", '{');
   tl_json_int(out, "assumed", t->assumed);
   tl_json_bool(out, "cut", t->is_cut);
   tl_json_bool(out, "stuck", p.is_stuck);
   tl_json_int(out, "landing_ticks", LANDING_TICKS);
   tl_json_int(out, "dot_ticks", DOT_TICKS);
   tl_json_open_field(out, "lanes", '[');
   for (size_t i = 0; i < t->roles.len; i++) {
      tl_json_open(out, '{');
      tl_json_str(out, "name", t->roles.data[i].name);
      tl_json_int(out, "warps", t->roles.data[i].warps);
      tl_json_int(out, "registers", t->roles.data[i].registers);
      tl_json_close(out, '}');
   }
   tl_json_close(out, ']');
   tl_json_open_field(out, "items", '[');
   for (size_t i = 0; i < p.items.len; i++)
      put_item(v, &p.items.data[i], out);
   tl_json_close(out, ']');
   tl_json_close(out, '}');
}

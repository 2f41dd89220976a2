/* SPDX-License-Identifier: Apache-2.0 */
/* test_tasklist.c - the ring of tasks is read whole while it changes, and never for ever. */
#include "tests/fakes/fake_process.h"
#include "tests/unit/unit_test.h"

enum { NODE = 16 };

struct ring {
    struct fake *fake;
    struct tasklist list;
    cpy_addr head;
};

static struct ring make_ring(size_t count)
{
    struct ring r = {.fake = fake_of_tasks(15)};

    tasklist_init(&r.list);
    r.head = fake_room(r.fake, NODE);
    fake_ring_init(r.fake, r.head);
    while (count-- > 0)
        fake_ring_add(r.fake, r.head, fake_room(r.fake, NODE));
    return r;
}

static enum cpy_rc read_ring(struct ring *r)
{
    return tasklist_read(&r->list, &r->fake->reader, r->head);
}

static void end(struct ring *r)
{
    tasklist_finish(&r->list);
    mem_close(&r->fake->mem);
}

static cpy_addr node_of(const struct ring *r, size_t i)
{
    return r->head + (i + 1) * NODE;
}

static void gives_the_nodes_in_order(void **state)
{
    static const size_t counts[] = {0, 1, 2, 63, 64, 65, 1000};

    (void)state;
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        struct ring r = make_ring(counts[c]);

        assert_int_equal(read_ring(&r), CPY_OK);
        assert_int_equal(r.list.count, counts[c]);
        for (size_t i = 0; i < counts[c]; i++)
            assert_int_equal(r.list.nodes[i], node_of(&r, i));
        end(&r);
    }
}

static void ends_on_a_ring_that_does_not_come_back(void **state)
{
    (void)state;
    for (size_t back = 0; back < 9; back++) {
        struct ring r = make_ring(10);

        fake_put64(r.fake, node_of(&r, 9) + r.fake->layout.llist.next, node_of(&r, back));
        assert_int_equal(read_ring(&r), CPY_RACED);
        end(&r);
    }
}

static void ends_on_nodes_that_lead_nowhere(void **state)
{
    static const cpy_addr nowhere[] = {0, 4, NOWHERE, UINT64_MAX, UINT64_MAX - 7};

    (void)state;
    for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
        struct ring r = make_ring(10);

        fake_put64(r.fake, node_of(&r, 5) + r.fake->layout.llist.next, nowhere[i]);
        assert_int_equal(read_ring(&r), CPY_RACED);
        end(&r);
    }
}

/* Node 5 of ten goes, and its memory is used for something else. */
static void take_node_5(struct fake *fake)
{
    cpy_addr first = FAKE_BASE + NODE, gone = first + 5 * NODE;

    fake_put64(fake, first + 4 * NODE + fake->layout.llist.next, gone + NODE);
    fake_put64(fake, gone + NODE + fake->layout.llist.prev, first + 4 * NODE);
    fake_put64(fake, gone + fake->layout.llist.next, 0);
    fake_put64(fake, gone + fake->layout.llist.prev, 0);
}

static void finds_all_that_stay_when_one_goes_at_any_moment(void **state)
{
    (void)state;
    for (uint64_t moment = 1; moment <= 11; moment++) {
        struct ring r = make_ring(10);
        size_t found = 0;

        r.fake->change = take_node_5;
        r.fake->change_at = moment;
        assert_int_equal(read_ring(&r), CPY_OK);

        for (size_t i = 0; i < r.list.count; i++)
            found += r.list.nodes[i] != node_of(&r, 5);
        assert_int_equal(found, 9);
        assert_in_range(r.list.count, 9, 10);
        end(&r);
    }
}

static void stops_at_the_most_tasks_of_a_list(void **state)
{
    struct ring r = make_ring(TASKS_MAX + 10);

    (void)state;
    assert_int_equal(read_ring(&r), CPY_OK);
    assert_int_equal(r.list.count, TASKS_MAX);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_nodes_in_order),
        cmocka_unit_test(ends_on_a_ring_that_does_not_come_back),
        cmocka_unit_test(ends_on_nodes_that_lead_nowhere),
        cmocka_unit_test(finds_all_that_stay_when_one_goes_at_any_moment),
        cmocka_unit_test(stops_at_the_most_tasks_of_a_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_source_reader.c - a file is read in the root and with the rights of the process that names
 * it, and not waited for for ever. tests/integration/test_source.py has the file systems that do
 * not answer.
 */
#include <signal.h>
#include <sys/wait.h>

#include "agent/dump/source_reader.h"
#include "tests/unit/temp_tree.h"
#include "tests/unit/unit_test.h"

enum { NOBODY = 65534 };

static int make_sources(void **state)
{
    if (tree_make(state) != 0)
        return -1;
    tree_directory("app");
    tree_write_text("app/shop.py", "shop\n");
    tree_write_text("app/notes.txt", "notes\n");
    tree_write_text("secret.py", "secret\n");
    tree_link("app/link.py", "notes.txt");
    tree_link("app/out.py", "../secret.py");
    return chmod(tree, 0755);
}

/* What a reader gives for a file; NULL: nothing. Lent until the next call. */
static const char *text_of(struct source_reader *reader, const char *file)
{
    static char text[256];
    struct buf out;
    bool found;

    buf_init(&out, sizeof(text) - 1);
    found = source_reader_read(reader, file, &out);
    if (found)
        (void)snprintf(text, sizeof(text), "%s", buf_text(&out));
    buf_finish(&out);
    return found ? text : NULL;
}

static void a_folder_has_python_sources_only(void **state)
{
    const struct source_folder folder = {
        .root = tree_path("app"), .working = tree_path("app"), .python_only = true};
    struct source_reader *reader;

    (void)state;
    tree_needs_openat2();
    reader = source_reader_of_folder(&folder);
    assert_string_equal(text_of(reader, "/shop.py"), "shop\n");
    assert_string_equal(text_of(reader, "shop.py"), "shop\n");
    assert_string_equal(text_of(reader, tree_path("app/shop.py")), "shop\n");
    assert_null(text_of(reader, "/notes.txt"));
    assert_null(text_of(reader, "/link.py"));
    assert_null(text_of(reader, "/out.py"));
    assert_null(text_of(reader, "/../secret.py"));
    assert_null(text_of(reader, tree_path("secret.py")));
    assert_null(text_of(reader, ""));
    assert_false(source_reader_gave_up(reader));
    source_reader_end(reader);
}

static void a_name_of_any_length_is_no_harm(void **state)
{
    static char name[1 << 20];
    const struct source_folder folder = {.root = "/", .working = "/"};
    struct source_reader *reader = source_reader_of_folder(&folder);

    (void)state;
    memset(name, 'x', sizeof(name) - 1);
    assert_null(text_of(reader, name));
    name[4096] = '\0';
    assert_null(text_of(reader, name));
    assert_false(source_reader_gave_up(reader));
    source_reader_end(reader);
}

static void a_file_larger_than_the_room_is_not_there(void **state)
{
    static char text[3 << 20];
    const struct source_folder folder = {.root = tree_path("app"), .working = "/"};
    struct source_reader *reader;
    struct buf small, large;

    (void)state;
    tree_needs_openat2();
    reader = source_reader_of_folder(&folder);
    memset(text, 'x', sizeof(text));
    tree_write("app/large.py", text, sizeof(text));
    buf_init(&small, sizeof(text) - 1);
    buf_init(&large, sizeof(text));
    assert_false(source_reader_read(reader, "/large.py", &small));
    assert_true(source_reader_read(reader, "/large.py", &large));
    assert_int_equal(large.size, sizeof(text));
    buf_finish(&small);
    buf_finish(&large);
    source_reader_end(reader);
}

/* A process of another user that waits. */
static pid_t start_nobody(void)
{
    int pipes[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    if (pid == 0) {
        if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0 || write(pipes[1], "", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
    return pid;
}

static void end_nobody(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void a_process_gets_what_it_could_read_itself(void **state)
{
    struct source_owner ours, theirs;
    struct source_reader *reader;
    pid_t pid;

    (void)state;
    tree_needs_openat2();
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(tree_path("secret.py"), 0600), 0);
    assert_int_equal(chmod(tree_path("app"), 0755), 0);
    pid = start_nobody();
    assert_true(source_owner_find(getpid(), &ours));
    assert_true(source_owner_find(pid, &theirs));
    assert_true(source_owner_same(&ours, &ours));
    assert_false(source_owner_same(&ours, &theirs));

    reader = source_reader_of_owner(&theirs);
    assert_string_equal(text_of(reader, tree_path("app/notes.txt")), "notes\n");
    assert_null(text_of(reader, tree_path("secret.py")));
    source_reader_end(reader);
    reader = source_reader_of_owner(&ours);
    assert_string_equal(text_of(reader, tree_path("secret.py")), "secret\n");
    source_reader_end(reader);
    end_nobody(pid);
}

/* Its number may be another's by then. */
static void a_process_that_has_ended_gets_nothing(void **state)
{
    struct source_owner owner;
    struct source_reader *reader;

    (void)state;
    assert_true(source_owner_find(getpid(), &owner));
    owner.program.id.start++;
    reader = source_reader_of_owner(&owner);
    assert_null(text_of(reader, tree_path("app/shop.py")));
    assert_null(text_of(reader, tree_path("app/shop.py")));
    assert_false(source_reader_gave_up(reader));
    source_reader_end(reader);
    assert_null(text_of(NULL, "/"));
    source_reader_end(NULL);
}

/* Its directories are that one's by then. */
static void a_process_that_runs_another_program_gets_nothing(void **state)
{
    struct source_owner owner;
    struct source_reader *reader;

    (void)state;
    tree_needs_openat2();
    assert_true(source_owner_find(getpid(), &owner));
    reader = source_reader_of_owner(&owner);
    assert_non_null(text_of(reader, tree_path("app/shop.py")));
    source_reader_end(reader);
    owner.program.mark++;
    reader = source_reader_of_owner(&owner);
    assert_null(text_of(reader, tree_path("app/shop.py")));
    source_reader_end(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_has_python_sources_only),
        cmocka_unit_test(a_name_of_any_length_is_no_harm),
        cmocka_unit_test(a_file_larger_than_the_room_is_not_there),
        cmocka_unit_test(a_process_gets_what_it_could_read_itself),
        cmocka_unit_test(a_process_that_has_ended_gets_nothing),
        cmocka_unit_test(a_process_that_runs_another_program_gets_nothing),
    };

    return cmocka_run_group_tests_name("source_reader", tests, make_sources, tree_remove);
}

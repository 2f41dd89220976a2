/* SPDX-License-Identifier: Apache-2.0 */
/* test_sources.c - which of several sources counts: files, drop-ins, environment, options. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/conf/help.h"
#include "tests/unit/unit_test.h"

static char folder[] = "/tmp/test-sources-XXXXXX";
static char main_path[64];

static int make_folder(void **state)
{
    char path[64];

    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(main_path, sizeof(main_path), "%s/t.ini", folder);
    (void)snprintf(path, sizeof(path), "%s/conf.d", folder);
    return mkdir(path, 0700);
}

static int remove_folder(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command); /* NOLINT(cert-env33-c): a name of our own */
}

/* Writes a file of the folder; NULL removes it. */
static void put(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (!text) {
        (void)unlink(path);
        return;
    }
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int remove_drop_ins(void **state)
{
    static const char *const all[] = {"10-early.ini", "20-late.ini", ".hidden.ini", "30.ini~",
                                      "1.ini"};
    char name[32];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        (void)snprintf(name, sizeof(name), "conf.d/%s", all[i]);
        put(name, NULL);
    }
    return 0;
}

static enum conf_rc load(char *const *environment, const struct conf_flag *flags, size_t count,
                         struct conf **out, struct buf *errors)
{
    const struct conf_source source = {
        .path = main_path,
        .drop_ins = true,
        .environment = environment,
        .flags = flags,
        .flag_count = count,
    };

    buf_init(errors, CONF_TEXT_MAX);
    return conf_load(&source, out, errors);
}

/* Loads what must be right. */
static struct conf *must_load(char *const *environment, const struct conf_flag *flags, size_t count)
{
    struct conf *conf = NULL;
    struct buf errors;

    if (load(environment, flags, count, &conf, &errors) != CONF_OK)
        fail_msg("%s", conf_text_of(&errors));
    buf_finish(&errors);
    return conf;
}

/* Loads what must be wrong; the messages have no folder in them. */
static void must_not_load(char *const *environment, const char *expected)
{
    static char shown[4096];
    struct conf *conf = NULL;
    struct buf errors;
    char *from, *to;

    assert_int_equal(load(environment, NULL, 0, &conf, &errors), CONF_BAD);
    (void)snprintf(shown, sizeof(shown), "%s", conf_text_of(&errors));
    while ((from = strstr(shown, folder)) != NULL) {
        to = from + strlen(folder) + 1;
        memmove(from, to, strlen(to) + 1);
    }
    assert_string_equal(shown, expected);
    buf_finish(&errors);
}

static void reads_drop_ins_in_the_order_of_their_names(void **state)
{
    struct conf *conf;

    (void)state;
    put("t.ini",
        "[agent]\nrate = 1Hz\nscan = 2s\n[target a]\nuser = u\n[labels]\nenv = x\nteam = t\n");
    put("conf.d/20-late.ini", "[agent]\nrate = 3Hz\n[labels]\nenv = z\n");
    put("conf.d/10-early.ini",
        "[agent]\nrate = 2Hz\n[target a]\nservice = s\n[target b]\nuser = v\n");
    put("conf.d/.hidden.ini", "[nonsense\n");
    put("conf.d/30.ini~", "[nonsense\n");

    conf = must_load(NULL, NULL, 0);
    assert_true(conf->agent.rate_hz == 3);
    assert_int_equal(conf->agent.scan_ns, UINT64_C(2000000000));
    assert_int_equal(conf->target_count, 2);
    assert_string_equal(conf->targets[0].when.user, "u");
    assert_string_equal(conf->targets[0].service, "s");
    assert_string_equal(conf->targets[1].name, "b");
    assert_int_equal(conf->label_count, 2);
    assert_string_equal(conf->labels[0].value, "z");
    conf_free(conf);
}

static void names_the_file_and_the_line_of_each_mistake(void **state)
{
    (void)state;
    put("t.ini", "[agent]\nrate = 0Hz\n[target a]\nuser = u\n");
    put("conf.d/10-early.ini", "\nrate = 1Hz\n[agent]\nscan = 1\n[agent]\n");
    put("conf.d/20-late.ini", "[target a]\nuser = v\nuser = w\n");
    must_not_load(
        NULL, "t.ini:2: [agent] rate: \"0Hz\" is out of range; allowed: 0.1Hz to 1000Hz\n"
              "conf.d/10-early.ini:2: key \"rate\" stands before any section; allowed: "
              "in " CONF_SECTION_TITLES "\n"
              "conf.d/10-early.ini:4: [agent] scan: \"1\" has no unit; units: ns us ms s m h d; "
              "allowed: 100ms to 1h\n"
              "conf.d/10-early.ini:5: [agent]: is on line 3 already; allowed: once\n"
              "conf.d/20-late.ini:3: [target a] user: is set on line 2 already; allowed: once\n");
}

static void lets_the_environment_go_before_the_files(void **state)
{
    static char *const environment[] = {"PATH=/bin",
                                        "PYSTROBE_AGENT_RATE=5Hz",
                                        "PYSTROBE_LABELS_ENV=y",
                                        "PYSTROBE_TARGET_WEB_1_SERVICE=shop",
                                        "PYSTROBE_EXPORTER_MY_STORE_TYPE=store",
                                        "PYSTROBE_EXPORTER_MY_STORE_MAX_SIZE=2MiB",
                                        "PYSTROBE_EXPORTER_FAR_HEADER_X_TEAM=a",
                                        NULL};
    struct conf *conf;

    (void)state;
    put("t.ini", "[agent]\nrate = 1Hz\n[target web.1]\nuser = u\n[labels]\nenv = x\n"
                 "[exporter Far]\ntype = pyroscope\nurl = http://h\n");
    conf = must_load(environment, NULL, 0);
    assert_true(conf->agent.rate_hz == 5);
    assert_int_equal(conf->target_count, 1);
    assert_string_equal(conf->targets[0].service, "shop");
    assert_int_equal(conf->label_count, 1);
    assert_string_equal(conf->labels[0].value, "y");
    assert_int_equal(conf->exporter_count, 2);
    assert_string_equal(conf->exporters[0].headers[0].name, "x-team");
    assert_string_equal(conf->exporters[1].name, "my_store");
    assert_int_equal(conf->exporters[1].max_size_bytes, 2 << 20);
    conf_free(conf);
}

static void keeps_the_names_of_free_keys_in_variables(void **state)
{
    static char *const environment[] = {"PYSTROBE_TARGET_WEB_ENV_HOME=x",
                                        "PYSTROBE_TARGET_WEB_EXCLUDE_ENV_DD_ENV=y",
                                        "PYSTROBE_EXPORTER_FAR_HEADER_FILE_X_TEAM=/team",
                                        "PYSTROBE_EXPORTER_FAR_HEADER_ENV_X_USER=USER",
                                        "PYSTROBE_EXPORTER_FAR_HEADER_CREDENTIAL_X_KEY=key",
                                        "PYSTROBE_EXPORTER_NEW_TYPE=pyroscope",
                                        "PYSTROBE_EXPORTER_NEW_URL=http://h",
                                        "PYSTROBE_EXPORTER_NEW_HEADER_FILE_X_TEAM=/team",
                                        NULL};
    struct conf *conf;
    struct buf out;
    const char *text;

    (void)state;
    put("t.ini", "[agent]\nenv_allow = HOME DD_ENV\n[target web]\nuser = u\n"
                 "[exporter far]\ntype = pyroscope\nurl = http://h\n");
    conf = must_load(environment, NULL, 0);
    buf_init(&out, CONF_TEXT_MAX);
    conf_print(conf, &out);
    text = conf_text_of(&out);
    assert_non_null(strstr(text, "\nenv.HOME = x ;"));
    assert_non_null(strstr(text, "\nexclude_env.DD_ENV = y ;"));
    assert_non_null(strstr(text, "\nheader_file.x-team = /team ; PYSTROBE_EXPORTER_FAR_"));
    assert_non_null(strstr(text, "\nheader_env.x-user = USER ;"));
    assert_non_null(strstr(text, "\nheader_credential.x-key = key ;"));
    assert_non_null(strstr(text, "\nheader_file.x-team = /team ; PYSTROBE_EXPORTER_NEW_"));
    buf_finish(&out);
    conf_free(conf);
}

static void lets_options_go_before_all(void **state)
{
    static char *const environment[] = {"PYSTROBE_AGENT_LOG_LEVEL=debug", NULL};
    static const struct conf_flag flag = {"--log-level", "log_level", "error"};
    struct conf *conf;

    (void)state;
    put("t.ini", "[agent]\nlog_level = warning\n");
    conf = must_load(environment, NULL, 0);
    assert_string_equal(conf->agent.log_level, "debug");
    conf_free(conf);
    conf = must_load(environment, &flag, 1);
    assert_string_equal(conf->agent.log_level, "error");
    conf_free(conf);
}

static void says_where_each_setting_came_from(void **state)
{
    static char *const environment[] = {"PYSTROBE_AGENT_SCAN=3s",
                                        "PYSTROBE_EXPORTER_FAR_HEADER_X_KEY=secret", NULL};
    static const struct conf_flag flag = {"--log-level", "log_level", "error"};
    struct conf *conf;
    struct buf out;
    const char *text;

    (void)state;
    put("t.ini", "[agent]\nrate = 1Hz\n[exporter far]\ntype = pyroscope\nurl = http://h\n");
    put("conf.d/1.ini", "\n[agent]\ninterval = 9s\n");
    conf = must_load(environment, &flag, 1);
    buf_init(&out, CONF_TEXT_MAX);
    conf_print(conf, &out);
    text = conf_text_of(&out);
    assert_non_null(strstr(text, "t.ini:2\n"));
    assert_non_null(strstr(text, "conf.d/1.ini:3\n"));
    assert_non_null(strstr(text, "scan = 3s ; PYSTROBE_AGENT_SCAN\n"));
    assert_non_null(strstr(text, "log_level = error ; --log-level\n"));
    assert_non_null(strstr(text, "log_format = text ; default\n"));
    assert_non_null(strstr(text, "header.x-key = *** ; PYSTROBE_EXPORTER_FAR_HEADER_X_KEY\n"));
    assert_null(strstr(text, "secret"));
    buf_finish(&out);
    conf_free(conf);
}

static void says_what_is_wrong_with_a_variable(void **state)
{
    static char *const environment[] = {"PYSTROBE_AGENT_RATEE=1Hz",  "PYSTROBE_AGENT_SCAN=soon",
                                        "PYSTROBE_AGNET_RATE=1Hz",   "PYSTROBE_EXPORTER_TYPE=store",
                                        "PYSTROBE_LABELS_A=\x1b[2J", NULL};

    (void)state;
    put("t.ini", "");
    must_not_load(
        environment,
        "PYSTROBE_AGENT_RATEE: [agent]: key \"ratee\" is not known; allowed: " CONF_AGENT_KEYS
        "; did you mean \"rate\"?\n"
        "PYSTROBE_AGENT_SCAN: [agent] scan: \"soon\" is not a number with a unit; units: ns us ms "
        "s "
        "m h d; allowed: 100ms to 1h\n"
        "PYSTROBE_AGNET_RATE: there is no section [agnet]; did you mean PYSTROBE_AGENT_RATE?\n"
        "PYSTROBE_EXPORTER_TYPE: names no section and key; allowed: PYSTROBE_EXPORTER_NAME_KEY\n"
        "PYSTROBE_LABELS_A: the value has a control character: 0x1b in column 1\n");
}

static void finds_the_section_of_a_key_that_is_not_known(void **state)
{
    static char *const environment[] = {"PYSTROBE_EXPORTER_FAR_AWAY_MAX_SIZ=1",
                                        "PYSTROBE_TARGET_NONE_USERR=u", NULL};
    struct conf *conf = NULL;
    struct buf errors;
    const char *text;

    (void)state;
    put("t.ini", "[exporter far-away]\ntype = store\n");
    assert_int_equal(load(environment, NULL, 0, &conf, &errors), CONF_BAD);
    text = conf_text_of(&errors);
    assert_non_null(strstr(text, "SIZ: [exporter far-away]: key \"max_siz\" is not known"));
    assert_non_null(strstr(text, "USERR: [target none]: key \"userr\" is not known"));
    assert_null(strstr(text, "has no condition"));
    buf_finish(&errors);
}

static void passes_over_what_is_not_meant_for_it(void **state)
{
    static char *const environment[] = {"PYSTROBE=/usr/bin/pystrobe",
                                        "PYSTROBE_DISABLE=1",
                                        "PYSTROBE_AGENT=1",
                                        "PYSTROBE_BUILD=build",
                                        "pystrobe_agent_rate=1",
                                        "PYSTROBE_AGENT_SERVICE_HOST=10.0.0.1",
                                        "PYSTROBE_AGENT_PORT_7997_TCP_ADDR=10.0.0.1",
                                        "PYSTROBE_PORT=tcp://10.0.0.1:7997",
                                        "PYSTROBE_EXPORTER_PORT_80_TCP=tcp://10.0.0.1:80",
                                        NULL};
    struct conf *conf;

    (void)state;
    put("t.ini", "");
    conf = must_load(environment, NULL, 0);
    assert_true(conf->agent.rate_hz == 19);
    assert_int_equal(conf->exporter_count, 0);
    conf_free(conf);
}

static void holds_all_files_together_to_a_mebibyte(void **state)
{
    static char text[CONF_TEXT_MAX - 10];

    (void)state;
    memset(text, '\n', sizeof(text) - 1);
    put("t.ini", text);
    put("conf.d/1.ini", "# one line and more\n");
    must_not_load(NULL,
                  "conf.d/1.ini: is too large; allowed: up to 1 MiB, with the files before it\n");
}

/* What OpenTelemetry's variables say is not read here: it is only known where they may stand in. */
static void leaves_open_what_opentelemetrys_variables_may_say(void **state)
{
    static char *const environments[][3] = {
        {"OTEL_EXPORTER_OTLP_ENDPOINT=http://h:4318", NULL},
        {"OTEL_EXPORTER_OTLP_ENDPOINT=", "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT=http://h/x", NULL}};
    static char *const none[] = {
        "OTEL_EXPORTER_OTLP_ENDPOINT=", "OTEL_EXPORTER_OTLP_ENDPOINTS=http://h", NULL};
    struct conf *conf;
    struct buf out;
    size_t i;

    (void)state;
    put("t.ini", "[exporter o]\ntype = otlp\n");
    for (i = 0; i < 2; i++) {
        conf = must_load(environments[i], NULL, 0);
        assert_null(conf->exporters[0].url);
        assert_int_equal(conf->exporters[0].timeout_ns, 0);
        assert_null(conf->exporters[0].compression);
        assert_int_equal(conf->exporters[0].queue, 0); /* which they do not know */
        buf_init(&out, CONF_TEXT_MAX);
        conf_print(conf, &out);
        assert_non_null(strstr(conf_text_of(&out),
                               "\n; url: not set (OTEL_EXPORTER_OTLP_ENDPOINT, else an error)\n"));
        assert_non_null(strstr(conf_text_of(&out),
                               "\n; timeout: not set (OTEL_EXPORTER_OTLP_TIMEOUT, else 10s)\n"));
        buf_finish(&out);
        conf_free(conf);
    }
    must_not_load(none, "t.ini:1: [exporter o] url: is missing, and so is "
                        "OTEL_EXPORTER_OTLP_ENDPOINT in the environment; allowed: http://HOST or "
                        "https://HOST, then :PORT and /PATH if needed\n");
    put("t.ini", "[exporter p]\ntype = pyroscope\n");
    must_not_load(environments[0],
                  "t.ini:1: [exporter p] url: is missing; allowed: http://HOST or https://HOST, "
                  "then :PORT and /PATH if needed\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, remove_drop_ins)
    const struct CMUnitTest tests[] = {
        TEST(reads_drop_ins_in_the_order_of_their_names),
        TEST(names_the_file_and_the_line_of_each_mistake),
        TEST(lets_the_environment_go_before_the_files),
        TEST(keeps_the_names_of_free_keys_in_variables),
        TEST(lets_options_go_before_all),
        TEST(says_where_each_setting_came_from),
        TEST(says_what_is_wrong_with_a_variable),
        TEST(leaves_open_what_opentelemetrys_variables_may_say),
        TEST(finds_the_section_of_a_key_that_is_not_known),
        TEST(passes_over_what_is_not_meant_for_it),
        TEST(holds_all_files_together_to_a_mebibyte),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_cgroup.c - container, pod and unit from the cgroup paths that engines make. */
#include <string.h>

#include "agent/proc/cgroup.h"
#include "tests/unit/unit_test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct row {
    const char *text;
    const char *path, *container, *machine, *pod, *unit;
};

static const struct row rows[] = {
    {"0::/\n", "/", "", "", "", ""},
    {"", "", "", "", "", ""},
    {"no colon\n0:only one\n", "", "", "", "", ""},
    {"0::/system.slice/shop.service\n", "/system.slice/shop.service", "", "", "", "shop.service"},
    {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope\n",
     "/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope", "", "", "", "a.scope"},
    {"0::/system.slice/docker-" ID ".scope\n", "/system.slice/docker-" ID ".scope", ID, "", "",
     "docker-" ID ".scope"},
    {"12:cpu:/docker/" ID "\n1:name=systemd:/docker/" ID "\n", "/docker/" ID, ID, "", "", ""},
    {"0::/machine.slice/libpod-" ID ".scope/container\n",
     "/machine.slice/libpod-" ID ".scope/container", ID, "", "", "libpod-" ID ".scope"},
    {"0::/kubepods.slice/kubepods-burstable.slice/"
     "kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice/cri-containerd-" ID
     ".scope\n",
     "/kubepods.slice/kubepods-burstable.slice/"
     "kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice/cri-containerd-" ID ".scope",
     ID, "", "01234567-89ab-cdef-0123-456789abcdef", "cri-containerd-" ID ".scope"},
    {"3:memory:/kubepods/besteffort/pod01234567-89ab-cdef-0123-456789abcdef/" ID "\n",
     "/kubepods/besteffort/pod01234567-89ab-cdef-0123-456789abcdef/" ID, ID, "",
     "01234567-89ab-cdef-0123-456789abcdef", ""},
    {"0::/kubepods/pod0123456789abcdef0123456789abcdef/" ID "\n",
     "/kubepods/pod0123456789abcdef0123456789abcdef/" ID, ID, "",
     "0123456789abcdef0123456789abcdef", ""},
    {"0::/system.slice:crio:" ID "\n", "/system.slice:crio:" ID, ID, "", "", ""},
    {"1:cpu:/ecs/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef-1234567890\n",
     "/ecs/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef-1234567890",
     "0123456789abcdef0123456789abcdef-1234567890", "", "", ""},
    {"0::/lxc.payload.shop/init.scope\n", "/lxc.payload.shop/init.scope", "", "shop", "",
     "init.scope"},
    {"4:cpu:/lxc/web1\n", "/lxc/web1", "", "web1", "", ""},
    {"0::/machine.slice/machine-shop\\x2d1.scope/payload\n",
     "/machine.slice/machine-shop\\x2d1.scope/payload", "", "shop-1", "",
     "machine-shop\\x2d1.scope"},
    {"0::/machine.slice/systemd-nspawn@web.service/payload/system.slice/a.service\n",
     "/machine.slice/systemd-nspawn@web.service/payload/system.slice/a.service", "", "web", "",
     "a.service"},
    /* What is no id in form is none. */
    {"0::/docker/0123\n", "/docker/0123", "", "", "", ""},
    {"0::/podx/pod/podZZZ\n", "/podx/pod/podZZZ", "", "", "", ""},
    /* The line that tells most, of several. */
    {"2:cpu:/\n1:name=systemd:/system.slice/a.service\n0::/\n", "/system.slice/a.service", "", "",
     "", "a.service"},
    {"2:cpu:/x\n0::/y\n", "/y", "", "", "", ""},
};

static void reads_what_a_path_tells(void **state)
{
    struct cgroup cgroup;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cgroup_parse(rows[i].text, strlen(rows[i].text), &cgroup);
        assert_string_equal(cgroup.path, rows[i].path);
        assert_string_equal(cgroup.container, rows[i].container);
        assert_string_equal(cgroup.machine, rows[i].machine);
        assert_string_equal(cgroup.pod, rows[i].pod);
        assert_string_equal(cgroup.unit, rows[i].unit);
    }
}

static void cuts_a_path_that_is_too_long(void **state)
{
    static char text[3 * CGROUP_PATH_MAX];
    struct cgroup cgroup;

    (void)state;
    memset(text, 'a', sizeof(text));
    memcpy(text, "0::/", 4);
    cgroup_parse(text, sizeof(text), &cgroup);
    assert_int_equal(strlen(cgroup.path), CGROUP_PATH_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_a_path_tells),
        cmocka_unit_test(cuts_a_path_that_is_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_cgroup.c - container, pod and unit from the cgroups and mounts that engines make. */
#include <stdlib.h>
#include <string.h>

#include "agent/proc/cgroup.h"
#include "tests/unit/unit_test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

#define ID_2 "f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID  "01234567-89ab-cdef-0123-456789abcdef"
#define UNIT "01234567_89ab_cdef_0123_456789abcdef" /* UID as systemd's names have it */
#define HASH "0123456789abcdef0123456789abcdef"

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

/* Lines of /proc/PID/mountinfo, as ext4 and tmpfs have them. */
#define EXT4(root, point) "2098 2061 252:1 " root " " point " rw,relatime - ext4 /dev/sda1 rw\n"
#define TMPFS(root, point) \
    "961 975 0:47 " root " " point " rw master:44 - tmpfs tmpfs rw,mode=700\n"
#define CGROUP(root) "664 663 0:31 " root " /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n"
#define ROOT                                                                                    \
    "659 450 0:183 / / rw,relatime master:88 - overlay overlay "                                \
    "rw,upperdir=/var/lib/docker/overlay2/" ID_2 "/diff,workdir=/var/lib/docker/overlay2/" ID_2 \
    "/work\n"
#define DOCKER "/var/lib/docker/containers/" ID
#define PODMAN "/containers/overlay-containers/" ID "/userdata"
#define KUBE   "/var/lib/kubelet/pods/" UID
#define CRI    "/var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/" ID

static const struct {
    const char *text, *container, *pod;
} mounts[] = {
    {"", "", ""},
    /* Docker, its Desktop, and one whose files were replaced since. */
    {ROOT CGROUP("/") EXT4(DOCKER "/resolv.conf", "/etc/resolv.conf")
         EXT4(DOCKER "/hostname", "/etc/hostname") EXT4(DOCKER "/hosts", "/etc/hosts"),
     ID, ""},
    {EXT4("/docker/containers/" ID "/hostname", "/etc/hostname"), ID, ""},
    {EXT4(DOCKER "/resolv.conf//deleted", "/etc/resolv.conf"), ID, ""},
    /* Podman: without root; in a pod of its own, where hosts and resolv.conf are another's. */
    {TMPFS(PODMAN "/resolv.conf", "/etc/resolv.conf") TMPFS(PODMAN "/hosts", "/etc/hosts"), ID, ""},
    {TMPFS("/containers/overlay-containers/" ID_2 "/userdata/hosts", "/etc/hosts")
         TMPFS(PODMAN "/hostname", "/etc/hostname"),
     ID, ""},
    {EXT4("/var/lib/nerdctl/1935db59/containers/default/" ID "/hostname", "/etc/hostname"), ID, ""},
    /* In pods the files are the sandbox's: containerd, CRI-O, cri-dockerd. */
    {ROOT CGROUP("/") EXT4(KUBE "/etc-hosts", "/etc/hosts")
         EXT4(KUBE "/containers/web/e3d5dec7", "/dev/termination-log")
             EXT4(CRI "/hostname", "/etc/hostname") EXT4(CRI "/resolv.conf", "/etc/resolv.conf"),
     "", UID},
    {TMPFS(PODMAN "/resolv.conf", "/etc/resolv.conf") TMPFS(PODMAN "/hostname", "/etc/hostname")
         EXT4(KUBE "/etc-hosts", "/etc/hosts"),
     "", UID},
    {EXT4(DOCKER "/hostname", "/etc/hostname")
         EXT4("/kubelet/pods/" UID "/volume-subpaths/etc/web/0", "/etc/hosts"),
     "", UID},
    {EXT4("/var/lib/kubelet/pods/" HASH "/etc-hosts", "/etc/hosts"), "", HASH},
    {EXT4(CRI "/hostname", "/etc/hostname"), "", ""},
    /* The cgroup that is mounted is the container's own. */
    {CGROUP("/../../kubepods-burstable-pod" UNIT ".slice/cri-containerd-" ID ".scope")
         EXT4("/docker/containers/" ID_2 "/hostname", "/etc/hostname"),
     ID, UID},
    {"31 30 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
     "32 31 0:29 /kubepods/pod" UID "/" ID " /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup "
     "cgroup rw,cpu,cpuacct\n",
     ID, UID},
    /* LXC, and the host. */
    {ROOT CGROUP("/lxc.payload.shop") EXT4("/", "/dev/lxc"), "", ""},
    {"31 30 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n" EXT4("/", "/"), "", ""},
    /* Other places, other kinds, and what is no id in form. */
    {EXT4(DOCKER "/hostname", "/etc/hostname2") EXT4(DOCKER "/hostname", "/mnt/etc/hostname"), "",
     ""},
    {EXT4("/docker-" ID ".scope", "/sys/fs/cgroup"), "", ""},
    {"1 2 0:1 /docker-" ID ".scope /sys/fs/cgroups rw - cgroup2 cgroup rw\n", "", ""},
    {"1 2 0:1 /docker-" ID ".scope /sys/fs rw - cgroup2 cgroup rw\n", "", ""},
    {EXT4("/docker/containers/0" ID "/hostname", "/etc/hostname"), "", ""},
    {EXT4("/docker/containers/0123/hostname", "/etc/hostname"), "", ""},
    {EXT4("/docker/containers/" ID "\\040/hostname", "/etc/hostname"), "", ""},
    {EXT4("/docker/\\040containers/" ID "/hostname", "/etc/hostname"), "", ""},
    {EXT4("/docker/containers/" ID, "/etc/hostname"), "", ""},
    {EXT4("/docker/containers/a/b/" ID "/hostname", "/etc/hostname"), "", ""},
    {EXT4("/containers/sandboxes/" ID "/hostname", "/etc/hostname"), "", ""},
    {EXT4("/pods/" UID, "/etc/hosts") EXT4("/pods/" UID "0/x", "/etc/hosts"), "", ""},
    {EXT4("/pods/" ID "/etc-hosts", "/etc/hosts"), "", ""},
    {"\n\n - \n1 2 3 / /etc/hosts\n-\n1 2 3 " DOCKER "/hosts /etc/hosts rw\n", "", ""},
    {"1 2 3 " DOCKER "/hosts /etc/hosts rw -\n1 2 3 " DOCKER "/hosts /etc/hosts rw - \n", "", ""},
    /* A last line that is cut, and what the lines behind it may have said. */
    {"2098 2061 252:1 " DOCKER "/hosts /etc/hosts rw - ext4 /dev/sda1 rw", "", ""},
    {EXT4(DOCKER "/hostname", "/etc/hostname") "2099 2061 252:1 /var/lib/kube", "", ""},
    {CGROUP("/docker-" ID ".scope") "2099 2061", ID, ""},
};

static void reads_what_mounts_tell(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
        struct cgroup cgroup = {.path = "/"};

        cgroup_parse_mounts(mounts[i].text, strlen(mounts[i].text), &cgroup);
        if (strcmp(cgroup.container, mounts[i].container) != 0 ||
            strcmp(cgroup.pod, mounts[i].pod) != 0)
            print_error("row %zu: %s\n", i, mounts[i].text);
        assert_string_equal(cgroup.container, mounts[i].container);
        assert_string_equal(cgroup.pod, mounts[i].pod);
        assert_string_equal(cgroup.path, "/");
    }
}

static void keeps_what_the_cgroup_told(void **state)
{
    static const char text[] = EXT4(KUBE "/etc-hosts", "/etc/hosts");
    static const char other[] = CGROUP("/kubepods-pod" UNIT ".slice/crio-" ID ".scope");
    struct cgroup cgroup = {.container = ID_2}, full = {.container = ID_2, .pod = HASH};

    (void)state;
    cgroup_parse_mounts(text, sizeof(text) - 1, &cgroup);
    assert_string_equal(cgroup.container, ID_2);
    assert_string_equal(cgroup.pod, UID);
    cgroup_parse_mounts(other, sizeof(other) - 1, &full);
    assert_string_equal(full.container, ID_2);
    assert_string_equal(full.pod, HASH);
}

/* Wherever what was read ends: nothing behind it is touched (make asan, valgrind), and no id is
 * made up. */
static void stays_within_what_was_read(void **state)
{
    static const char text[] =
        CGROUP("/") EXT4(DOCKER "/hostname", "/etc/hostname") EXT4(DOCKER "/hosts", "/etc/hosts");

    (void)state;
    for (size_t size = 0; size < sizeof(text); size++) {
        struct cgroup cgroup = {.path = "/"};
        char *copy = malloc(size > 0 ? size : 1);

        assert_non_null(copy);
        memcpy(copy, text, size);
        cgroup_parse_mounts(copy, size, &cgroup);
        assert_true(!cgroup.container[0] || strcmp(cgroup.container, ID) == 0);
        assert_string_equal(cgroup.pod, "");
        free(copy);
    }
}

static void passes_over_parts_that_are_too_long(void **state)
{
    static char text[64 << 10];
    const char end[] = "/" ID "/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n";
    struct cgroup cgroup = {.path = "/"};

    (void)state;
    memset(text, 'a', sizeof(text));
    memcpy(text, "1 2 3 /", 7);
    memcpy(text + sizeof(text) - sizeof(end) + 1, end, sizeof(end) - 1);
    cgroup_parse_mounts(text, sizeof(text), &cgroup);
    assert_string_equal(cgroup.container, "");
    memcpy(text + sizeof(text) - sizeof(end) - 10, "/containers", 11);
    cgroup_parse_mounts(text, sizeof(text), &cgroup);
    assert_string_equal(cgroup.container, ID);
}

static bool needs_mounts(const char *text)
{
    struct cgroup cgroup;

    cgroup_parse(text, strlen(text), &cgroup);
    return cgroup_needs_mounts(&cgroup);
}

static void looks_at_mounts_only_where_the_cgroup_is_hidden(void **state)
{
    (void)state;
    assert_true(needs_mounts("0::/\n"));
    assert_true(needs_mounts("0::/init\n")); /* Docker in Docker */
    assert_true(needs_mounts("0::/../..\n"));
    assert_true(needs_mounts("0::/../cri-containerd-" ID ".scope\n"));
    assert_true(needs_mounts(""));
    assert_false(needs_mounts("0::/system.slice/docker-" ID ".scope\n"));
    assert_false(needs_mounts("0::/kubepods/pod" UID "/" ID "\n"));
    assert_false(needs_mounts("0::/../../system.slice/cron.service\n"));
    assert_false(needs_mounts("0::/user.slice/user-1000.slice/session-3.scope\n"));
    assert_false(needs_mounts("0::/lxc.payload.shop\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_a_path_tells),
        cmocka_unit_test(cuts_a_path_that_is_too_long),
        cmocka_unit_test(reads_what_mounts_tell),
        cmocka_unit_test(keeps_what_the_cgroup_told),
        cmocka_unit_test(stays_within_what_was_read),
        cmocka_unit_test(passes_over_parts_that_are_too_long),
        cmocka_unit_test(looks_at_mounts_only_where_the_cgroup_is_hidden),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

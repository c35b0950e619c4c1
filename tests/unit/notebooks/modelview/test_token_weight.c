#include "notebooks/modelview/token_weight.h"

#include "tests/lib/test.h"

#include <string.h>

typedef struct {
    const char *name, *text;
    size_t tokens; /* of o200k_base, which bpe-openai 0.1.4 counted */
} sample_t;

static const sample_t samples[] = {
    {"prose",
     "The kernel keeps a session's variables until nobody has used it for an "
     "hour, and then says what was lost.",
     23},
    {"code",
     "def find(self, name: str) -> Optional[Path]:\n    return next((p for p "
     "in "
     "self.paths if p.name == name), None)",
     31},
    {"hexadecimal",
     "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4bd4735e3a2"
     "65e16eee03f59718b9b5d03019c",
     61},
    {"a hexdump",
     "00000010  7f 45 4c 46 02 01 01 00 9c d3 e8 f1 0b 6a 00 00  "
     "|.ELF.....j..|",
     50},
    {"decimals",
     "0.134364 0.847434 0.763775 0.255069 0.495435 0.449491 0.651593 0.788723",
     39},
    {"integers",
     "[137302, 582114, 867241, 821334, 782991, 64822, 261099, 120573]", 32},
    {"base64",
     "/T/rPJJQt5dKm1KLaWNjIaRhtV71W3vq/YCamp6SW3mmNC+g/biylNl/"
     "xhA9kgibJfpeA59SqOipX2TWWJwfeEQGZULsOACNHf07",
     65},
    {"a log",
     "2026-11-28 02:41:07,113 INFO worker-3 epoch 12 loss=0.4415 lr=3.0e-04",
     35},
    {"a table",
     "3      name3           25.5069     0.4954     449491\n"
     "4      name4           65.1593     0.7887      93859",
     41},
    {"JSON",
     "{\"id\": 17, \"name\": \"user17\", \"score\": 0.2289, \"ok\": true, "
     "\"tags\": [\"a\", \"b\"]}",
     37},
    {"a path",
     "/usr/lib/python3/dist-packages/numpy/core/"
     "_multiarray_umath.cpython-311.so",
     20},
    {"a sequence",
     "ACGTTGCAACGGTATCCGATTACAGGCATTCGGATCCTTAAGGCCATGCAATTGCCGGTA", 33},
    {"accents",
     "Größe, façade, naïve, Überprüfung, señor, garçon, œuvre, élève", 19},
    {"Chinese", "变量会一直保留,直到会话超时,然后说明丢失了什么。", 20},
};

/* From four fifths to eight fifths of what a tokenizer counts. */
static void is_near_what_a_tokenizer_counts(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        size_t weight = token_weight(text_bytes(samples[i].text));
        size_t counted = TOKEN_WEIGHT(samples[i].tokens);

        if (weight * 5 < counted * 4 || weight * 5 > counted * 8)
            fail_msg("%s: %zu where %zu is right", samples[i].name, weight,
                     counted);
    }
}

/* A dump of it fills a budget, and is not to go past it. */
static void is_no_less_for_hexadecimal(void **state)
{
    static const char dump[] =
        "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9\n"
        "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b\n"
        "d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35\n"
        "4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce\n"
        "4b227777d4dd1fc61c6f884f48641d02b4d121d3fd328cb08b5531fcacdabf8a\n"
        "ef2d127de37b942baad06145e54b0c619a1f22327b2ebbcfbec78f5564afe39d\n"
        "e7f6c011776e8db7cd330b54174fd76f7d0216b612387a5ffcfb81e6f0919683\n"
        "7902699be42c8a8e46fbbb4501726517e86b22c56a189f7625a6da49081b2451";
    size_t counted = TOKEN_WEIGHT(307);
    size_t weight = token_weight(text_bytes(dump));

    (void) state;
    assert_in_range(weight, counted, counted * 21 / 20);
}

/* Memory and text are bounded by it, too. */
static void is_no_less_than_the_bytes(void **state)
{
    char blanks[1000];

    (void) state;
    memset(blanks, ' ', sizeof blanks);
    assert_int_equal(token_weight((bytes_t){blanks, sizeof blanks}), 1000);
    memset(blanks, '-', sizeof blanks);
    assert_int_equal(token_weight((bytes_t){blanks, sizeof blanks}), 1000);
    assert_int_equal(token_weight((bytes_t){NULL, 0}), 0);
}

/* A character that is cut, or none at all. */
static void takes_any_bytes(void **state)
{
    (void) state;
    assert_int_equal(token_weight((bytes_t){"\xf0\x9f\x98", 3}),
                     TOKEN_WEIGHT(2));
    assert_int_equal(token_weight((bytes_t){"\x80\x80\0\xff", 4}),
                     TOKEN_WEIGHT(3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_near_what_a_tokenizer_counts),
        cmocka_unit_test(is_no_less_for_hexadecimal),
        cmocka_unit_test(is_no_less_than_the_bytes),
        cmocka_unit_test(takes_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

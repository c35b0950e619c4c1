/* What a session wrote, in a saved page: text, colours, cleaned HTML. */
#include "notebooks/page/page_clean.h"
#include "notebooks/page/page_text.h"
#include "tests/lib/test.h"

#include <stdbool.h>
#include <string.h>

#define WIDE 60000 /* elements: more than are kept */

static void assert_clean(const char *html, const char *expected)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) page_clean(text_bytes(html), &out);
    buffer_text(&out, "");
    assert_string_equal(out.data ? (const char *) out.data : "", expected);
}

static void assert_coloured(const char *text, const char *expected)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    page_text_coloured(text_bytes(text), &out);
    assert_string_equal((const char *) out.data, expected);
}

static void a_text_is_no_markup(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    page_text(text_bytes("<b a=\"'\">&amp;\n\t"), &out);
    assert_string_equal((char *) out.data,
                        "&lt;b a=&quot;&#39;&quot;&gt;&amp;amp;\n\t");
    buffer_clear(&out);
    page_text(text_bytes("\xE2\x80\xAEg\x01\xFF\xC2\x9B\xEE\x80\x80\xC3\xA9"),
              &out);
    assert_string_equal((char *) out.data, "⟨U+202E⟩g⟨U+0001⟩�⟨U+009B⟩"
                                           "⟨U+E000⟩é");
}

static void a_line_is_one_and_is_cut(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    page_text_line(" a\n\n b\tc ", 10, &out);
    assert_string_equal((char *) out.data, "a b c");
    buffer_clear(&out);
    page_text_line("éé<", 3, &out);
    assert_string_equal((char *) out.data, "é… +3 bytes");
}

static void colours_become_classes(void **state)
{
    (void) state;
    assert_coloured("plain", "plain");
    assert_coloured("\033[31mred\033[1;3;4mall\033[22;23;24;39mnone",
                    "<span class=\"ansi1 \">red</span>"
                    "<span class=\"ansi1 bold italic underline\">all</span>"
                    "none");
    assert_coloured("\033[38;2;0;0;250mb\033[38:5:196mr\033[48;5;1;94mg\033[mn",
                    "<span class=\"ansi4 \">b</span>"
                    "<span class=\"ansi1 \">r</span>"
                    "<span class=\"ansi4 \">g</span>n");
    assert_coloured("\033[2J\033[999999999999m", "⟨U+001B⟩[2J");
    assert_coloured("\033[", "⟨U+001B⟩[");
}

static void a_line_that_was_written_again_is_one(void **state)
{
    (void) state;
    assert_coloured("10%\r\033[32m50%\r99%\r\r\ndone\r",
                    "<span class=\"ansi2 \">99%</span>\n"
                    "<span class=\"ansi2 \">done</span>");
}

static void harmless_html_stays(void **state)
{
    (void) state;
    assert_clean("<table border=1 class=x><tr><td align=right>a<td>b</table>",
                 "<table><tr><td align=\"right\">a</td><td>b</td></tr>"
                 "</table>");
    assert_clean("<P>one<p TITLE='a \"q\"'>two<br/>",
                 "<p>one</p><p title=\"a &quot;q&quot;\">two<br></p>");
    assert_clean("<ol start=3 reversed><li>a<li>b",
                 "<ol start=\"3\" reversed>"
                 "<li>a</li><li>b</li></ol>");
    assert_clean("<details><summary>s</summary>t</details>",
                 "<details open><summary>s</summary>t</details>");
    assert_clean("a &lt;b&gt; &eacute; &#233;&#x202e; & &#xD800; &rlm;",
                 "a &lt;b&gt; &amp;eacute; é⟨U+202E⟩ &amp; � &amp;rlm;");
    assert_clean("1 < 2 <3", "1 &lt; 2 &lt;3");
    assert_clean("<img src=' data:image/png;base64,aGk= ' width=10>",
                 "<img src=\"data:image/png;base64,aGk=\" width=\"10\">");
}

static void what_could_act_is_gone(void **state)
{
    (void) state;
    assert_clean("a<script>1</script >b<script>", "ab");
    assert_clean("<style>*{}</style><svg><svg></svg><p>x</svg>y<svg/>z", "yz");
    assert_clean("<b onclick=x style=x id=x href=x>t</b>", "<b>t</b>");
    assert_clean("<img src=http://e.example/a.png onerror=x>", "<img>");
    assert_clean("<img src=\"data:image/svg+xml;base64,aGk=\">", "<img>");
    assert_clean("<img src='data:image/png;base64,aGk=\" onerror=x '>",
                 "<img>");
    assert_clean("<form><input><button>t</button></form><base href=x>", "t");
    assert_clean("<td width='9\"' colspan=x>t", "<td>t</td>");
    assert_clean("<!-- <b> -->a<!doctype x>b<?php ?>c</ >d<!", "abcd");
    assert_clean("<b", "<b></b>");
    assert_clean("</p></table></b></div></nothing>", "");
    assert_clean("<b><i>x</b>y</i>", "<b><i>x</i></b>y");
}

static void a_link_is_its_text_and_its_target(void **state)
{
    (void) state;
    assert_clean("<a href=https://e.example/?a&b>t</a>",
                 "<span>t ⟨https://e.example/?a&amp;b⟩</span>");
    assert_clean("<a href='http://e.example'>http://e.example</a>",
                 "<span>http://e.example</span>");
    assert_clean("<a href=javascript:x>t", "<span>t</span>");
}

static void it_says_how_much_is_left(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY, html = BUFFER_EMPTY;

    (void) state;
    assert_int_equal(page_clean(text_bytes("<b> \n</b><script>1"), &out),
                     PAGE_CLEAN_EMPTY);
    assert_int_equal(page_clean((bytes_t){NULL, 0}, &out), PAGE_CLEAN_EMPTY);
    assert_int_equal(page_clean(text_bytes("<hr>"), &out), PAGE_CLEAN_WHOLE);
    for (size_t i = 0; i < WIDE; i++)
        buffer_text(&html, "<b>x");
    buffer_clear(&out);
    assert_int_equal(page_clean(buffer_bytes(&html), &out), PAGE_CLEAN_CUT);
    assert_non_null(strstr((char *) out.data, "</b></b>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_no_markup),
        cmocka_unit_test(a_line_is_one_and_is_cut),
        cmocka_unit_test(colours_become_classes),
        cmocka_unit_test(a_line_that_was_written_again_is_one),
        cmocka_unit_test(harmless_html_stays),
        cmocka_unit_test(what_could_act_is_gone),
        cmocka_unit_test(a_link_is_its_text_and_its_target),
        cmocka_unit_test(it_says_how_much_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

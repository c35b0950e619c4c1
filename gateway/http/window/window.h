/* The files of the window's page, converted to C when hearth is built
 * (build-aux/embed.sh). */
#ifndef HEARTH_GATEWAY_HTTP_WINDOW_WINDOW_H
#define HEARTH_GATEWAY_HTTP_WINDOW_WINDOW_H

#include <stddef.h>

extern const char window_html[], window_welcome_html[], window_css[];
extern const size_t window_html_size, window_welcome_html_size, window_css_size;
extern const char window_js[], window_access_js[], window_notebook_js[];
extern const size_t window_js_size, window_access_js_size;
extern const size_t window_notebook_js_size;
extern const char window_outputs_js[], window_quiet_js[];
extern const size_t window_outputs_js_size, window_quiet_js_size;
/* Files of the frame's document. */
extern const char window_frame_css[], window_frame_js[];
extern const size_t window_frame_css_size, window_frame_js_size;
extern const char window_acts_js[], window_feed_js[];
extern const size_t window_acts_js_size, window_feed_js_size;
extern const char window_sessions_js[], window_text_js[];
extern const size_t window_sessions_js_size, window_text_js_size;

#endif

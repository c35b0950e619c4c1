/* A private key that has a password cannot be used: no person is there to be
 * asked for it. */
#ifndef HEARTH_GATEWAY_CONFIG_TLS_PASSWORD_H
#define HEARTH_GATEWAY_CONFIG_TLS_PASSWORD_H

/* Refuses to give a password; OpenSSL's pem_password_cb. Sets *was_asked, a
 * bool, to true; NULL if the caller does not want that. */
int tls_password_refuse(char *text, int size, int is_new, void *was_asked);

#endif

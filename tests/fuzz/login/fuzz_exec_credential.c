/* Any text as what a program prints for credentials: something to prove with, or an error that says
 * what is wrong. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "cli/login/exec_credential.h"
#include "kube/credentials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct exec_credential credential = { 0 };
	struct err err = { 0 };
	int r = exec_credential_read((const char *)data, size, "client.authentication.k8s.io/v1",
				     &credential, &err);

	if (r < 0) {
		assert(r == -ENOKEY && err.code == r && err.msg[0]);
		assert(!credential.token && !credential.cert && !credential.key);
		return 0;
	}
	assert(credential.token || credential.cert);
	assert(!credential.cert == !credential.key);
	assert(!credential.token || credentials_is_token(credential.token));
	exec_credential_done(&credential);
	return 0;
}

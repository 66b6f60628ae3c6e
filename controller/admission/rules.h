/*
 * rules: selects the rule for an object and operation; the webhook's two entry points. Pure.
 *
 * Nothing is decided on incomplete facts: while a store lacks its first list, requests for claims
 * must be retried, and virtual machines are admitted with a warning.
 */
#pragma once

struct admission_answer;
struct admission_request;
struct known;

void rules_validate(const struct known *known, const struct admission_request *request,
		    struct admission_answer *answer);
void rules_mutate(const struct known *known, const struct admission_request *request,
		  struct admission_answer *answer);

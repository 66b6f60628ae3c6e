/*
 * rules: which rule is about which object and operation, and the two entries for the webhook. Pure.
 *
 * What is known of too little is not guessed: where a store has not had its list yet, claims are to be
 * tried again, and virtual machines pass with a warning.
 */
#pragma once

struct admission_answer;
struct admission_request;
struct known;

void rules_validate(const struct known *known, const struct admission_request *request,
		    struct admission_answer *answer);
void rules_mutate(const struct known *known, const struct admission_request *request,
		  struct admission_answer *answer);

import type { environmentFailureKinds } from '../../shared/events/environment-fields.ts';

/** A failure of the environment itself. Such an attempt is never scored. */
export type EnvironmentFailureKind = (typeof environmentFailureKinds)[number];

const failureKind = Symbol('clawloop.environment-failure');

/** @public */
export type EnvironmentFailure = Error & { readonly [failureKind]: EnvironmentFailureKind };

export const environmentFailure = (kind: EnvironmentFailureKind, message: string): EnvironmentFailure =>
  Object.assign(new Error(message), { name: 'EnvironmentFailure', [failureKind]: kind });

const full = Symbol('clawloop.environment-full');

/** Unavailable for lack of room: the end of another attempt may make some. */
export const environmentFull = (message: string): EnvironmentFailure =>
  Object.assign(environmentFailure('environment-unavailable', message), { [full]: true });

export const isEnvironmentFull = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && full in error;

/** The kind of an EnvironmentFailure; undefined for any other error. */
export const environmentFailureKind = (error: unknown): EnvironmentFailureKind | undefined =>
  typeof error === 'object' && error !== null && failureKind in error
    ? (error as EnvironmentFailure)[failureKind]
    : undefined;

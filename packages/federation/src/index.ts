// @holdfast/federation: deliveries between servers, encrypted, signed and acknowledged.

export { UnrecoverableError } from 'holdfast'
export { FederationError, type FederationErrorCode, federationErrorCodes } from './errors.ts'

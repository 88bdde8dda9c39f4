// The name of a type. The face is said only where it is not a queue, which most are.

export function TypeName({ face, name }: { readonly face: string; readonly name: string }) {
  return (
    <span class="type-name">
      <bdi>{name}</bdi>
      {face !== 'queue' && face !== '' && <span class="face">{face}</span>}
    </span>
  )
}

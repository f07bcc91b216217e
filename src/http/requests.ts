import { Command, Query } from '@nestjs/cqrs';

type CreatedFrom<Properties, Base> = new (properties: Properties) => Base & Readonly<Properties>;

const createdFrom = (Base: new () => object) =>
  class extends Base {
    constructor(properties: object) {
      super();
      Object.assign(this, properties);
    }
  };

/** Returns the base class of a query. The query has the properties of the object from which it is created. */
export const queryOf = <Result, Properties extends object>() =>
  createdFrom(Query) as unknown as CreatedFrom<Properties, Query<Result>>;

/** Returns the base class of a command. The command has the properties of the object from which it is created. */
export const commandOf = <Result, Properties extends object>() =>
  createdFrom(Command) as unknown as CreatedFrom<Properties, Command<Result>>;
